"""Members that send false data, and the warnings that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kafka_assignors.plan import NO_GENERATION, Ownership
from tests.integration.members import Member


class Hostile(AbstractPartitionAssignor):
    """Joins with claims and user data of a subclass.

    Attributes:
        generation: of its claims.
    """

    name: ClassVar[str]
    generation: ClassVar[int] = NO_GENERATION

    def claims(self, topics: list[str]) -> Ownership:
        """Its claimed partitions."""
        return {}

    def user_data(self, topics: list[str]) -> bytes:
        """Its user data."""
        return b""

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Be hostile."""
        mine = sorted(topics)
        owned = self.claims(mine) if self.name == "cooperative-sticky" else {}
        entry = ConsumerProtocolSubscription.TopicPartition
        return ConsumerProtocolSubscription(
            version=3,
            topics=mine,
            user_data=self.user_data(mine),
            owned_partitions=[entry(topic=t, partitions=list(p)) for t, p in owned.items()],
            generation_id=self.generation,
            rack_id=None,
        )

    def assign(self, cluster: object, members: object) -> Mapping[str, object]:
        """Lead, which must not happen: an honest member was here first."""
        raise AssertionError("a hostile member leads")

    def on_assignment(self, assignment: object, generation: int) -> None:
        """Ignore assignments."""


def assert_named_once_a_rebalance(leader: Member, bad: Member, since: int) -> None:
    """Each rebalance the leader led with that member in the group has exactly one warning that names it."""
    state = bad.state()
    assert state is not None
    count = 0
    per_rebalance = []
    for event in leader.of_kind("log", "rebalance", since=since):
        if event.kind == "rebalance":
            per_rebalance.append(count)
            count = 0
        elif (
            event.facts["level"] == "WARNING"
            and f"member {state.facts['member_id']} " in event.facts["message"]
        ):
            count += 1
    assert per_rebalance
    assert set(per_rebalance) == {1}
