"""A member of the new protocol (KIP-848) tries to join a classic group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError

from kafka_assignors import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairestStickyAssignor,
    LagAwareAssignor,
    StickyAssignor,
)
from tests.integration.conftest import FreshNames
from tests.integration.members import Group
from tests.support.own_strategies import ClassicOnly
from tests.support.waiting import until

BEYOND = [
    FailoverAssignor,
    LagAwareAssignor,
    CooperativeLagAwareAssignor,
    FairestStickyAssignor,
    ClassicOnly,
]
PLAIN = [StickyAssignor, CooperativeStickyAssignor]


@contextmanager
def newcomer(group: Group) -> Iterator[Consumer]:
    """A librdkafka member with the new protocol."""
    consumer = Consumer(
        {"bootstrap.servers": group.bootstrap, "group.id": group.group_id, "group.protocol": "consumer"}
    )
    consumer.subscribe(group.topics)
    try:
        yield consumer
    finally:
        consumer.close()


def refusal(consumer: Consumer) -> KafkaError:
    """Return the error that ends the member."""
    errors: list[KafkaError] = []

    def stopped() -> bool:
        message = consumer.poll(0.1)
        error = None if message is None else message.error()
        errors.extend([] if error is None else [error])
        return bool(errors)

    until(stopped, "the broker's refusal")
    return errors[0]


@pytest.mark.parametrize(
    ("strategy", "options"),
    [(strategy, {}) for strategy in BEYOND]
    + [(strategy, {"migration_policy": "disabled"}) for strategy in PLAIN],
    ids=lambda value: getattr(value, "name", "disabled" if value else "default"),
)
def test_group_stays_classic_and_the_newcomer_is_refused(
    fresh: FreshNames, strategy: type, options: dict[str, str]
) -> None:
    """The broker does not convert the group.  No partition moves, and no member gets an event."""
    with Group(fresh, 6) as group:
        group.join_all(2, strategy, options=options)
        before = group.settled()
        with newcomer(group) as consumer:
            assert "group id does not exist" in str(refusal(consumer))
        assert group.settled() == before


@pytest.mark.parametrize("strategy", PLAIN, ids=lambda strategy: strategy.name)
def test_converted_group_is_noticed_once_by_every_member(fresh: FreshNames, strategy: type) -> None:
    """``sticky`` and its cooperative form let the broker plan by default, and every member logs it."""

    def warned() -> list[int]:
        return [
            sum("converted the group;" in event.facts["message"] for event in member.of_kind("log"))
            for member in group.members
        ]

    with Group(fresh, 6) as group:
        group.join_all(2, strategy)
        group.settled()
        with newcomer(group) as first:
            until(lambda: first.poll(0.1) is None and first.assignment(), "its share")
            group.wait_until(lambda: min(warned()) > 0, "the warnings")
            with newcomer(group) as second:  # the broker moves partitions once more
                until(lambda: not first.poll(0.1) and not second.poll(0.1) and second.assignment(), "a share")
        assert warned() == [1, 1]
