"""Members of librdkafka with the new protocol (KIP-848)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager

from confluent_kafka import Consumer

from tests.integration.members import Group


def newcomer(group: Group) -> AbstractContextManager[Consumer]:
    """A member of the group with the new protocol."""
    return member_of(group.bootstrap, group.group_id, group.topics)


@contextmanager
def member_of(bootstrap: str, group_id: str, topics: list[str]) -> Iterator[Consumer]:
    """A librdkafka member with the new protocol."""
    settings = {"bootstrap.servers": bootstrap, "group.id": group_id, "group.protocol": "consumer"}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe(topics)
        yield consumer
