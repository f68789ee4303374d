"""Strategies that plan by lag, with real lag and consumers, and with a cluster that does not answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping

import pytest
from kafka import KafkaConsumer

from kafka_assignors import CooperativeLagAwareAssignor, LagAwareAssignor, RangeAssignor, RebalanceOnSkew
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import write
from tests.integration.members import Group, Owned, assert_never_two_owners, moved
from tests.support.waiting import poll_until, until

KINDS = pytest.mark.parametrize("kind", [LagAwareAssignor, CooperativeLagAwareAssignor])
QUICK = RebalanceOnSkew(threshold=1.2, at_least=10, for_s=0.5, check_s=0.2, cool_down_s=0.5, per_hour=20)


def fill(group: Group, lags: Mapping[int, int]) -> None:
    """Write this many records to each partition.  Members of these tests never commit."""
    write(group.bootstrap, {TopicPartition(group.topics[0], p): count for p, count in lags.items()})


def loads(owned: Owned, lags: Mapping[int, int]) -> list[int]:
    return sorted(sum(lags[tp.partition] for tp in partitions) for partitions in owned.values())


def problems(group: Group) -> list[str]:
    """Warnings of our loggers, except of new topics that not every broker knows yet."""
    return [
        event.facts["message"]
        for member in group.members
        for event in member.of_kind("log")
        if event.facts["logger"] == "kafka_assignors"
        and event.facts["level"] in {"WARNING", "ERROR"}
        and "unknown topic" not in event.facts["message"]
    ]


@KINDS
def test_example_of_kip_169(fresh: FreshNames, kind: type[LagAssignor]) -> None:
    """Lags of 100, 60 and 50 records and two members: 100 for one, 110 for the other."""
    with Group(fresh, 3) as group:
        lags = {0: 100, 1: 60, 2: 50}
        fill(group, lags)
        members = group.join_all(2, kind, auto_offset_reset="earliest")
        assert loads(group.settled(), lags) == [100, 110]
        assert not problems(group)
        assert_never_two_owners(members)


@KINDS
def test_lag_without_a_commit_starts_at_the_reset_offset(fresh: FreshNames, kind: type[LagAssignor]) -> None:
    """They start at the end, so there is no lag and counts decide."""
    with Group(fresh, 4) as group:
        fill(group, {0: 100, 1: 100})
        group.join_all(2, kind, auto_offset_reset="latest")
        owned = group.settled()
        assert [len(partitions) for partitions in owned.values()] == [2, 2]
        reports = [e.facts for member in group.members for e in member.of_kind("rebalance")]
        assert reports[-1]["max_load"] == 0
        assert not problems(group)


def test_members_share_lag_by_capacity(fresh: FreshNames) -> None:
    """Seven partitions of equal lag, and members of capacity 1, 2 and 4."""
    with Group(fresh, 7) as group:
        lags = dict.fromkeys(range(7), 20)
        fill(group, lags)
        for capacity in (1, 2, 4):
            options = {"capacity": capacity, "max_partition_skew": None}
            group.join(CooperativeLagAwareAssignor, auto_offset_reset="earliest", options=options)
        owned = group.settled()
        assert {name: len(partitions) for name, partitions in owned.items()} == {"m0": 1, "m1": 2, "m2": 4}
        assert not problems(group)
        assert_never_two_owners(group.members)


def test_plans_follow_joins_and_leaves(fresh: FreshNames) -> None:
    """After leaves, joins and kills each partition has one owner, and the largest load is low."""
    with Group(fresh, 8) as group:
        lags = dict(enumerate((400, 200, 100, 50, 40, 30, 20, 10)))
        fill(group, lags)
        a, b = group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="earliest")
        assert loads(group.settled(), lags) == [390, 460]  # four each: 400 with the three smallest
        group.join(CooperativeLagAwareAssignor, auto_offset_reset="earliest")
        assert loads(group.settled(), lags)[-1] <= 455  # 410 could be; what is within a tenth stays
        a.close()
        assert loads(group.settled(), lags)[-1] <= 510
        b.kill()
        assert loads(group.settled(), lags) == [850]
        assert_never_two_owners(group.members)
        assert not problems(group)


def test_members_share_arrivals_that_they_measure(fresh: FreshNames) -> None:
    """There is never any lag.  The leader notices that one member receives everything, and moves a half."""
    with Group(fresh, 4) as group:
        options = {
            "rebalance_on_skew": QUICK,
            "load_source": "throughput",
            "load_horizon_ms": 15_000,
            "lag_refresh_ms": 200,
        }
        group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="latest", options=options)
        before = group.settled()
        busy = sorted(tp.partition for tp in before["m0"])
        assert len(busy) == 2

        def shared() -> bool:
            fill(group, dict.fromkeys(busy, 50))
            owned = group.settled()
            return all(len({tp.partition for tp in owned[name]} & {*busy}) == 1 for name in ("m0", "m1"))

        group.wait_until(shared, "the arrivals to be shared")
        plans = [e.facts for member in group.members for e in member.of_kind("rebalance")]
        assert plans[-1]["forecasts"] == 4
        assert not problems(group)
        assert_never_two_owners(group.members)


def test_skewed_lag_triggers_a_rebalance(fresh: FreshNames) -> None:
    """No member joins or leaves.  The leader requests a rebalance, and only moves that pay are made."""
    with Group(fresh, 8) as group:
        options = {"rebalance_on_skew": QUICK}
        group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="earliest", options=options)
        before = group.settled()
        busy, idle = (sorted(tp.partition for tp in before[name]) for name in ("m0", "m1"))
        lags = dict.fromkeys(busy, 100) | dict.fromkeys(idle, 0)
        fill(group, lags)
        leader = group.members[0]
        group.wait_until(
            lambda: any("requesting a rebalance" in e.facts["message"] for e in leader.of_kind("log")),
            "the leader to ask",
        )
        group.wait_until(lambda: loads(group.settled(), lags) == [200, 200], "the lag to be shared")
        assert len(moved(before, group.settled())) >= 4  # two there and two back: counts stay
        asked = {
            member.name
            for member in group.members
            for e in member.of_kind("log")
            if "requesting a rebalance" in e.facts["message"]
        }
        assert asked == {"m0"}
        # On a busy machine a member may miss its assignment, so the skew's round is repeated, or the next one
        # finds a partition unowned.
        causes = [event.facts["cause"] for event in leader.of_kind("rebalance")]
        assert "second-round" in causes[causes.index("skew") :]
        assert_never_two_owners(group.members)


def test_next_leader_watches_the_lag(fresh: FreshNames) -> None:
    """The leader is killed.  Only the new leader requests a rebalance."""
    with Group(fresh, 6) as group:
        options = {"rebalance_on_skew": QUICK}
        old, *_ = group.join_all(
            3, CooperativeLagAwareAssignor, auto_offset_reset="earliest", options=options
        )
        group.settled()
        old.kill()
        before = group.settled()
        busy = next(iter(before.values()))
        fill(group, {tp.partition: 100 for tp in busy})
        lags = {p: 100 if p in {tp.partition for tp in busy} else 0 for p in range(6)}
        group.wait_until(lambda: loads(group.settled(), lags) == [100, 200], "the lag to be shared")
        assert_never_two_owners(group.members)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a listener that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@KINDS
@pytest.mark.parametrize("where", ["silent", "unreachable"])
def test_silent_cluster_delays_no_rebalance(
    fresh: FreshNames, kind: type[LagAssignor], where: str, silent: str
) -> None:
    """The leader waits for the broker with the lag until the timeout, then plans without lag."""
    address = silent if where == "silent" else "127.0.0.1:1"
    options = {"consumer_config": {"bootstrap_servers": address, "group_id": "g"}, "lag_timeout_ms": 700}
    with Group(fresh, 6) as group:
        members = group.join_all(2, kind, options=options)
        owned = group.settled()
        assert [len(partitions) for partitions in owned.values()] == [3, 3]
        waited = [e.facts["milliseconds"] for member in members for e in member.of_kind("rebalance")]
        # A member alone fetches no lag.  The rest is for a busy machine.
        assert max(waited) < 700 + 2_000
        assert len(problems(group)) == 1
        assert (
            "each counts as the mean lag of its topic, or as 0 if its topic has no known lag"
            in problems(group)[0]
        )


def test_upgrade_from_range_to_cooperative_lag_aware_in_two_bounces(fresh: FreshNames) -> None:
    """Upgrade as in KIP-429, one member after the other."""
    with Group(fresh, 6) as group:
        fill(group, {0: 60, 1: 50})
        old = group.join_all(2, RangeAssignor, auto_offset_reset="earliest")
        group.settled()
        both = CooperativeLagAwareAssignor.upgrading_from(RangeAssignor)
        for strategies in (both, [CooperativeLagAwareAssignor]):
            new = []
            for member in old:
                member.close()
                new.append(group.join(*strategies, auto_offset_reset="earliest"))
                group.settled()
            old = new
        owned = group.settled()
        assert loads(owned, {0: 60, 1: 50, 2: 0, 3: 0, 4: 0, 5: 0}) == [50, 60]
        assert_never_two_owners(group.members)


@KINDS
def test_closed_consumer_leaves_no_thread(fresh: FreshNames, kind: type[LagAssignor]) -> None:
    topic = fresh.topic(4)
    before = set(threading.enumerate())
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=fresh.bootstrap,
        group_id=fresh.group(),
        partition_assignment_strategy=[kind.configured(lag_refresh_ms=10)],
    )
    poll_until(consumer, lambda: "kafka-assignors-lag" in {thread.name for thread in threading.enumerate()})
    consumer.close()
    # A connection that was being made while the consumer closed ends a moment later.
    until(lambda: set(threading.enumerate()) <= before, "its threads to end")
