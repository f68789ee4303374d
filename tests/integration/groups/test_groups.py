"""Live groups: joins, leaves and deaths, with every strategy, with kafka-python's own members, with zombies.

``Group.settled`` asserts each time that every partition has exactly one owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as TheirCooperativeSticky
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as TheirSticky

from kafka_assignors import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    FairestStickyAssignor,
    LagAwareAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
)
from kafka_assignors.broker import development_broker
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, Member, Owned, assert_never_two_owners, moved
from tests.support.broker.backend import own_backend
from tests.support.quick import quick

PARTITIONS = (16, 8)
ALL = sum(PARTITIONS)
STRATEGIES = [
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    FairAssignor,
    FairestStickyAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    LagAwareAssignor,
    CooperativeLagAwareAssignor,
]
STICKY: list[type] = [StickyAssignor, CooperativeStickyAssignor]
COOPERATIVE: list[type] = [FairestStickyAssignor, CooperativeStickyAssignor, CooperativeLagAwareAssignor]

every_strategy = pytest.mark.parametrize(
    "strategy",
    quick(STRATEGIES, FailoverAssignor, CooperativeStickyAssignor, CooperativeLagAwareAssignor),
    ids=lambda strategy: strategy.name,
)


def assert_only_the_moved_was_touched(
    members: list[Member], since: list[int], before: Owned, after: Owned
) -> None:
    """Assert that cooperative members got events for revoked and assigned partitions only."""
    for member, start in zip(members, since, strict=True):
        for kind, expected in (
            ("revoked", before[member.name] - after[member.name]),
            ("assigned", after[member.name] - before[member.name]),
            ("lost", frozenset[object]()),
        ):
            reported = [tp for event in member.of_kind(kind, since=start) for tp in event.partitions]
            assert sorted(reported) == sorted(cast("frozenset[tuple[str, int]]", expected)), (
                member.name,
                kind,
            )


@every_strategy
def test_join_leave_and_kill_keep_one_owner_a_partition(fresh: FreshNames, strategy: type) -> None:
    with Group(fresh, *PARTITIONS) as group:
        group.join_all(3, strategy)
        three = group.settled()
        old, since = group.present(), [len(member.events) for member in group.members]
        group.join(strategy)
        four = group.settled()
        if strategy in STICKY:
            assert len(moved(three, four)) == ALL // 4
        if strategy in COOPERATIVE:
            assert_only_the_moved_was_touched(old, since, three, four)

        group.members[1].close()
        left = group.settled()
        if strategy in STICKY:
            assert moved(four, left) == four["m1"]

        group.members[2].kill()
        survived = group.settled()
        if strategy in STICKY:
            assert moved(left, survived) == left["m2"]
        assert_never_two_owners(group.members)


def test_fairest_sticky_keeps_owned_partitions(fresh: FreshNames) -> None:
    with Group(fresh, *PARTITIONS) as group:
        group.join_all(2, FairestStickyAssignor)
        before = group.settled()
        group.join(FairestStickyAssignor)
        assert group.settled() == before | {"m2": frozenset()}


@every_strategy
def test_members_with_different_subscriptions(fresh: FreshNames, strategy: type) -> None:
    with Group(fresh, 8, 5, 3) as group:
        a, b, c = group.topics
        group.join(strategy, topics=[a, b])
        group.join(strategy, topics=[b, c])
        group.settled()
        group.join(strategy, topics=[c])
        group.join(strategy, topics=[a, b, c])
        group.settled()
        group.members[1].close()
        group.settled()
        assert_never_two_owners(group.members)


@pytest.mark.parametrize(
    "strategy",
    quick([RangeAssignor, StickyAssignor, CooperativeStickyAssignor], StickyAssignor),
    ids=lambda strategy: strategy.name,
)
def test_static_members_restart_without_moves(fresh: FreshNames, strategy: type) -> None:
    """Members restart one after the other, the leader too; other cooperative members get no event."""
    with Group(fresh, *PARTITIONS) as group:
        names = ["static-a", "static-b", "static-c"]
        running = {name: group.join(strategy, group_instance_id=name) for name in names}
        before = group.settled()
        since = {member.name: len(member.events) for member in group.members}
        for name, end in (("static-a", Member.close), ("static-b", Member.close), ("static-c", Member.kill)):
            stopped, successor = running[name], group.prepare(strategy, group_instance_id=name)
            end(stopped)
            running[name] = group.enter(successor)
            after = group.settled()
            assert after == {n: tps for n, tps in before.items() if n != stopped.name} | {
                successor.name: before[stopped.name]
            }
            since[successor.name] = len(successor.events)
            before = after
            if strategy in COOPERATIVE:
                for member in group.present():
                    assert not member.of_kind("revoked", "assigned", "lost", since=since[member.name])
        group.join(strategy)
        after = group.settled()
        if strategy in STICKY:
            assert len(moved(before, after)) == ALL // 4
        assert_never_two_owners(group.members)


@pytest.mark.parametrize("strategy", STICKY, ids=lambda strategy: strategy.name)
def test_short_polls_finish_the_join_for_new_partitions(fresh: FreshNames, strategy: type) -> None:
    """kafka-python 3.0 forgets a join that new metadata caused if a poll times out while it is under way.

    Then no call continues the join, and the member sends no heartbeat until the broker expels it.
    """
    with Group(fresh, 4) as group:
        member = group.join(strategy, poll_ms=1, metadata_max_age_ms=300)
        group.settled()
        group.grow(group.topics[0], 8)
        group.wait_until(lambda: (state := member.state()) and len(state.partitions) == 8, "all partitions")
        group.settled()


# --- together with kafka-python's own members ----------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(StickyAssignor, TheirSticky, id="sticky"),
        pytest.param(CooperativeStickyAssignor, TheirCooperativeSticky, id="cooperative-sticky"),
    ],
)
@pytest.mark.parametrize("we_lead", [True, False], ids=["we lead", "they lead"])
def test_group_with_kafka_pythons_own_sticky_members(
    fresh: FreshNames, ours: type, theirs: type, we_lead: bool
) -> None:
    """Plans are valid with any leader; under ours, no partition moves needlessly."""
    with Group(fresh, *PARTITIONS) as group:
        leader, follower = (ours, theirs) if we_lead else (theirs, ours)
        group.join_all(1, leader)
        group.join(follower)
        group.join(ours)
        three = group.settled()
        group.join(theirs)
        four = group.settled()
        group.members[1].close()
        left = group.settled()
        group.join(ours)
        again = group.settled()
        group.members[3].close()
        last = group.settled()
        if we_lead:
            assert len(moved(three, four)) == ALL // 4
            assert moved(four, left) == four["m1"]
            assert len(moved(left, again)) == ALL // 4
            assert moved(again, last) == again["m3"]
            assert_never_two_owners(group.members)


# --- lost membership -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patient(kafka_bootstrap: str) -> Iterator[FreshNames]:
    """Names on a broker that waits for more members before an empty group's first rebalance."""
    properties = {"group.initial.rebalance.delay.ms": 2000}
    with development_broker(own_backend(), properties=properties) as broker:
        yield FreshNames(broker.bootstrap)


def test_zombie_returns_while_another_member_joins(fresh: FreshNames) -> None:
    with Group(fresh, *PARTITIONS) as group:
        group.join_all(3, CooperativeStickyAssignor)
        group.settled()
        zombie = group.members[2]
        zombie.freeze()
        newcomer = group.prepare(CooperativeStickyAssignor)
        group.settled()
        zombie.thaw()
        group.enter(newcomer)
        group.settled()
        assert zombie.of_kind("lost")
        assert_never_two_owners(group.members)


@pytest.mark.long
def test_all_members_return_as_zombies_in_one_rebalance(patient: FreshNames) -> None:
    """A returning zombie sends stale claims in a rebalance in which another member joins.

    kafka-python's own members claim, without a generation, what they had; they never give it back, because
    they do not have it any more, and so never ask for the second round.
    """
    with Group(patient, *PARTITIONS) as group:
        group.join_all(2, CooperativeStickyAssignor)
        group.join(TheirCooperativeSticky)
        group.settled()
        zombies = group.present()
        for zombie in zombies:
            zombie.freeze()
        newcomer = group.prepare(CooperativeStickyAssignor)
        group.wait_until(lambda: group.describe()["group_state"] == "Empty", "all sessions to end")
        group.enter(newcomer)
        group.wait_until(lambda: group.describe()["members"], "the newcomer to be first")
        for zombie in zombies:
            zombie.thaw()
        group.settled()
        assert newcomer.wait_for("rebalance").facts["members"] == len(zombies) + 1
        assert all(zombie.of_kind("lost") for zombie in zombies)
        assert_never_two_owners(group.members)
