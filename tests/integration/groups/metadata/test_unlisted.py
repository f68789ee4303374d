"""A new leader with stale metadata revokes no partition of a live owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any

import pytest

from kafka_assignors import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairestStickyAssignor,
    StickyAssignor,
)
from tests.integration.conftest import FreshNames
from tests.integration.member_process import EventLog
from tests.integration.members import Group, Member, assert_never_two_owners
from tests.support.quick import quick

WITH_HISTORY = [
    StickyAssignor,
    FairestStickyAssignor,
    CooperativeStickyAssignor,
    CooperativeLagAwareAssignor,
]
with_history = pytest.mark.parametrize(
    "strategy", quick(WITH_HISTORY, CooperativeStickyAssignor), ids=lambda strategy: strategy.name
)
NEVER_MS = 300_000
EAGER = {StickyAssignor, FailoverAssignor}


class SlowToBegin(EventLog):
    """Prepares for new partitions on the I/O thread, so a leader hears of new metadata late.

    The others apply its first plan meanwhile.
    """

    def __init__(self, _consumer: object) -> None:
        self._prepared = threading.Event()

    def on_partitions_assigned(self, assigned: Collection[tuple[str, int]]) -> None:
        """Report them first."""
        super().on_partitions_assigned(assigned)
        self._prepared.wait(0.7)


STALE = "the metadata does not list"
TRIES = 12


def repeat_until_stale(play: Callable[[], bool]) -> None:
    """Play with new groups until the new leader had stale metadata: the broker elects any member."""
    assert any(play() for _ in range(TRIES)), f"no new leader of {TRIES} groups had stale metadata"


def survives_its_leader(
    group: Group, leader: Member, strategy: type, end: Callable[[Member], None] = Member.close
) -> bool:
    """End the leader, and check that every other member keeps its partitions in each round.

    Eager members revoke everything, but each assignment gives it back.

    Returns:
        Whether the next leader planned with metadata that did not list all owned partitions.
    """
    before = group.settled()
    since = {member.name: len(member.events) for member in group.members}
    end(leader)
    after = group.settled()
    for member in group.present():
        mine, name = before[member.name], member.name
        assert mine <= after[name]
        if strategy in EAGER:
            for event in member.of_kind("assigned", since=since[name]):
                assert mine <= event.partitions, f"{name} was without {sorted(mine - event.partitions)}"
        else:
            assert not member.of_kind("revoked", since=since[name]), name
    assert_never_two_owners(group.members)
    logged = [e for m in group.present() for e in m.of_kind("log", since=since[m.name])]
    if not any(STALE in event.facts["message"] for event in logged):
        return False
    led = [e for m in group.present() for e in m.of_kind("rebalance", since=since[m.name])]
    causes = {cause for event in led for cause in str(event.facts["cause"]).split("; ")}
    assert causes & {"metadata", "repeated"}  # kafka-python may repeat the join that waited for metadata
    return True


def owned(group: Group) -> int:
    """Return the number of partitions that members own."""
    return sum(len(state.partitions) for m in group.present() if (state := m.state()))


@with_history
def test_rolling_deploy_that_adds_a_topic(fresh: FreshNames, strategy: type) -> None:
    """The first leader knows both topics; its successor has never asked for the second."""

    def play() -> bool:
        with Group(fresh, 6, 8) as group:
            old, new = group.topics
            leader = group.join(strategy, topics=[old])
            group.settled()
            group.join(strategy, topics=[old, new])
            for _ in range(3):
                group.join(strategy, topics=[old], listener=SlowToBegin)
            return survives_its_leader(group, leader, strategy)

    repeat_until_stale(play)


@pytest.mark.long
@pytest.mark.parametrize(
    "end", [pytest.param(Member.close, id="leaves"), pytest.param(Member.kill, id="killed")]
)
@with_history
def test_leader_ends_right_after_a_topic_grew(
    fresh: FreshNames, strategy: type, end: Callable[[Member], None]
) -> None:
    """Only the metadata of the leader and of the owner lists the new partition.

    A killed leader's session expires first.
    """

    def play() -> bool:
        with Group(fresh, 4) as group:
            leader = group.join(strategy, metadata_max_age_ms=500)
            group.settled()
            for _ in range(4):
                group.join(strategy, metadata_max_age_ms=NEVER_MS, listener=SlowToBegin)
            group.settled()
            group.grow(group.topics[0], 5)
            group.wait_until(lambda: owned(group) == 5, "the new partition")
            return survives_its_leader(group, leader, strategy, end)

    repeat_until_stale(play)


@pytest.mark.long
@pytest.mark.parametrize("preempt", [True, False], ids=["preempt", "no preempt"])
def test_active_member_stays_active(fresh: FreshNames, preempt: bool) -> None:
    """The leader works on a topic of its own, and only its metadata lists all partitions of the other one."""

    def join(group: Group, priority: int, topic: str, age_ms: int = NEVER_MS, **settings: Any) -> Member:
        options = {"priority": priority, "preempt": preempt}
        return group.join(
            FailoverAssignor, topics=[topic], options=options, metadata_max_age_ms=age_ms, **settings
        )

    def play() -> bool:
        with Group(fresh, 2, 1) as group:
            topic, other = group.topics
            leader = join(group, 1, other, 500)
            group.settled()
            active = join(group, 9, topic, listener=SlowToBegin)
            group.settled()
            join(group, 2, topic, listener=SlowToBegin)
            join(group, 3, topic, listener=SlowToBegin)
            group.settled()
            group.grow(topic, 8)
            group.wait_until(lambda: owned(group) == 9, "the new partitions")
            assert len(group.settled()[active.name]) == 8
            return survives_its_leader(group, leader, FailoverAssignor)

    repeat_until_stale(play)


def test_leader_does_not_join_for_ever(fresh: FreshNames) -> None:
    """Its joins take longer than its metadata is fresh, and it does not read the others' topic."""

    def led() -> int:
        """Count its rebalances, without those that kafka-python repeats: under load there are more."""
        return sum(event.facts["cause"] != "repeated" for event in leader.of_kind("rebalance"))

    with Group(fresh, 2, 1) as group:
        topic, other = group.topics
        leader = group.join(CooperativeStickyAssignor, topics=[other], metadata_max_age_ms=500)
        group.settled()
        for _ in range(2):
            group.join(
                CooperativeStickyAssignor, topics=[topic], metadata_max_age_ms=NEVER_MS, listener=SlowToBegin
            )
        # The leader plans first without the topic, and again as soon as its metadata lists it.
        group.wait_until(lambda: owned(group) == 3, "all partitions")
        group.settled()
        before = led()
        group.members[1].close()
        group.settled()
        assert led() <= before + 3
