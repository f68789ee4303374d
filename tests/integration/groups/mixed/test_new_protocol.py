"""A member of the new protocol (KIP-848) tries to join a classic group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError

from kafka_assignors import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    FairestStickyAssignor,
    LagAwareAssignor,
    StickyAssignor,
)
from kafka_assignors.broker import development_broker
from tests.integration.conftest import FreshNames
from tests.integration.foreign.new_protocol_member import member_of, newcomer
from tests.integration.guarded import make_coordinators
from tests.integration.members import Group
from tests.integration.stateful.stateful_app import App
from tests.support.group.own_strategies import ClassicOnly
from tests.support.quick import long, quick
from tests.support.waiting import until

PLAIN = [StickyAssignor, CooperativeStickyAssignor]
DISABLED = {"migration_policy": "disabled"}
RACK = "zone-a"


@pytest.fixture(scope="module")
def racked() -> Iterator[FreshNames]:
    """Names on a broker in a rack."""
    with development_broker("jars", properties={"broker.rack": RACK}) as broker:
        make_coordinators(broker.bootstrap)
        yield FreshNames(broker.bootstrap)


def assert_refused(consumer: Consumer) -> None:
    """The broker's error ends the member."""
    errors: list[KafkaError] = []

    def stopped() -> bool:
        message = consumer.poll(0.1)
        error = None if message is None else message.error()
        errors.extend([] if error is None else [error])
        return bool(errors)

    until(stopped, "the broker's refusal")
    assert "group id does not exist" in str(errors[0])


def assert_group_stays_classic(names: FreshNames, strategy: type, options: Mapping[str, Any]) -> None:
    with Group(names, 6) as group:
        group.join_all(2, strategy, options=options)
        before = group.settled()
        with newcomer(group) as consumer:
            assert_refused(consumer)
        assert group.settled() == before


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        long(FailoverAssignor, {}),
        long(LagAwareAssignor, {}),
        (CooperativeLagAwareAssignor, {}),
        long(FairestStickyAssignor, {}),
        long(ClassicOnly, {}),
        long(StickyAssignor, DISABLED),
        (CooperativeStickyAssignor, DISABLED),
    ],
    ids=lambda value: getattr(value, "name", "disabled" if value else "default"),
)
def test_group_stays_classic_and_the_newcomer_is_refused(
    fresh: FreshNames, strategy: type, options: dict[str, str]
) -> None:
    """The broker does not convert the group.  No partition moves, and no member gets an event."""
    assert_group_stays_classic(fresh, strategy, options)


@pytest.mark.parametrize(
    "strategy",
    quick([*PLAIN, FairAssignor], CooperativeStickyAssignor),
    ids=lambda strategy: strategy.name,
)
def test_group_that_plans_by_racks_stays_classic(racked: FreshNames, strategy: type) -> None:
    """Without racks the broker would convert it."""
    assert_group_stays_classic(racked, strategy, {"rack": RACK})


def test_stateful_group_stays_classic(fresh: FreshNames, tmp_path: Path) -> None:
    """No task moves, and the members process on in the same generation."""
    with App(fresh, tmp_path, partitions=4) as app:
        members = [app.join("a"), app.join("b")]

        def states() -> list[tuple[set[int], int, bool]]:
            return [(m.ready, m.state["generation"], m.state["probing"]) for m in members]

        def is_balanced() -> bool:
            (a, generation, a_probes), (b, other, b_probes) = states()
            return len(a) == len(b) == 2 and generation == other and not (a_probes or b_probes)

        app.wait_until(is_balanced, "balance")
        before = states()
        with member_of(app.bootstrap, app.group, [app.topic]) as consumer:
            assert_refused(consumer)
        app.produce(100)
        app.wait_until_done()
        assert states() == before
        app.close()
        app.assert_exact()


@pytest.mark.parametrize(
    "strategy", quick(PLAIN, CooperativeStickyAssignor), ids=lambda strategy: strategy.name
)
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
