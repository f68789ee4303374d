"""Groups whose record at the broker is near the limit of a message, on a real broker."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import Any

import pytest
from kafka import KafkaConsumer

from kafka_assignors import ContinuousConsumer, CooperativeLagAwareAssignor, LagAwareAssignor
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.record_size import RECORD_BYTES
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, assert_never_two_owners, moved
from tests.integration.raw_group import RawGroup
from tests.integration.reading import all_records
from tests.support.group.described import assigned_in
from tests.support.group.joining import cluster
from tests.support.waiting import until

TOPIC = "orders-of-all-shops"
PARTITIONS = 200_000
UNLIMITED = 10**9  # no member gets a budget, so members send the plain forms
DAY_MS = 86_400_000
REFUSED = -1  # UNKNOWN_SERVER_ERROR


@cache
def all_lags() -> list[int]:
    """Skewed lags by partition number."""
    rng = random.Random(7)
    return [min(int(rng.paretovariate(0.8) * 1_000), 2**40) for _ in range(PARTITIONS)]


def lag_of(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    lags = all_lags()
    return {partition: lags[partition.partition] for partition in partitions}


def assignor_of(kind: type[LagAssignor], **options: object) -> Callable[[], LagAssignor]:
    """Lags do not change, and a busy machine may take its time."""
    times = dict.fromkeys(("lag_timeout_ms", "lag_refresh_ms", "lag_max_age_ms"), DAY_MS)
    return partial(kind, lag_source=lag_of, **times, **options)


def wait_for_lag(group: RawGroup) -> None:
    """Wait until each member has measured the lag of its partitions."""
    assignors: list[Any] = [member.assignor for member in group.members]
    until(lambda: all(a._keeper.report()[0] for a in assignors), "all members to measure their lag")


def owners(group: RawGroup) -> dict[tuple[str, int], str]:
    """Partition -> its owner; every partition has one."""
    found: dict[tuple[str, int], str] = {}
    for member in group.members:
        for topic, numbers in member.assignor._owned.items():
            for p in numbers:
                assert (topic, p) not in found, "two owners"
                found[topic, p] = member.member_id
    assert len(found) == sum(group.topics.values())
    return found


def record_bytes(bootstrap: str, group_id: str) -> int:
    """Return the size of the group's last record in the broker's own topic."""
    key = struct.pack(">hh", 2, len(group_id)) + group_id.encode()
    records = all_records(bootstrap, "__consumer_offsets", max_partition_fetch_bytes=2**22)
    return [len(record.value) for record in records if record.key == key and record.value][-1]


@pytest.mark.long
@pytest.mark.parametrize("kind", [CooperativeLagAwareAssignor, LagAwareAssignor])
def test_group_of_200_members_and_200_000_partitions(fresh: FreshNames, kind: type[LagAssignor]) -> None:
    """The record fits in every rebalance: the first, with claims and lag, and under another leader."""
    topics = {TOPIC: PARTITIONS}
    known = cluster(topics)
    with RawGroup(fresh.bootstrap, fresh.group(), topics, assignor_of(kind)) as group:
        group.add(200)
        assert group.rebalance(known) == 0
        wait_for_lag(group)
        before = owners(group)
        for _round in range(2):  # the second with the budgets of a group that sends claims and lag
            assert group.rebalance(known) == 0
            size = record_bytes(fresh.bootstrap, group.group_id)
            assert size <= RECORD_BYTES
            assert size <= group.leaders_size <= 1.1 * size
        if kind is LagAwareAssignor:
            return
        assert owners(group) == before, "claims are complete, so nothing moves"
        assert group.leader is not None
        left = group.leader.member_id
        group.remove(group.leader)
        group.add(1)
        for _round in range(3):  # partitions that move take two
            assert group.rebalance(known) == 0
        after = owners(group)
        stayed = sum(after[partition] == owner for partition, owner in before.items() if owner != left)
        assert stayed >= 0.95 * 199 / 200 * len(before)


@pytest.mark.long
def test_broker_refuses_a_record_without_budgets(fresh: FreshNames) -> None:
    """This is why there are budgets: the same group in the plain forms cannot rebalance a second time."""
    topics = {TOPIC: PARTITIONS}
    make = assignor_of(CooperativeLagAwareAssignor, group_record_bytes=UNLIMITED)
    with RawGroup(fresh.bootstrap, fresh.group(), topics, make) as group:
        group.add(200)
        assert group.rebalance(cluster(topics)) == 0
        wait_for_lag(group)
        assert group.rebalance(cluster(topics)) == REFUSED


@pytest.mark.parametrize("consumer_type", [KafkaConsumer, ContinuousConsumer])
def test_consumers_with_budgets(fresh: FreshNames, consumer_type: type[KafkaConsumer]) -> None:
    """With a limit as low as the group is small, claims and assignments travel in their compact forms."""
    options = {"group_record_bytes": 1_024, "lag_refresh_ms": 200}
    with Group(fresh, 60, 7) as group:
        a, *_ = group.join_all(3, CooperativeLagAwareAssignor, options=options, consumer_type=consumer_type)
        before = group.settled()
        described = [member["member_assignment"] for member in group.describe()["members"]]
        assert not any(assignment["assigned_partitions"] for assignment in described)
        assert sum(len(numbers) for d in described for numbers in assigned_in(d).values()) == 67
        group.join(CooperativeLagAwareAssignor, options=options, consumer_type=consumer_type)
        after = group.settled()
        assert moved(before, after) == after["m3"], "claims are complete, so only the new member gains"
        a.close()
        last = group.settled()
        assert moved(after, last) <= after["m0"]
        assert_never_two_owners(group.members)
