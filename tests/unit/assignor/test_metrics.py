"""A consumer's metrics, on a scripted broker."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as ForeignSticky
from kafka.errors import KafkaConnectionError, RebalanceInProgressError
from kafka.protocol.consumer import JoinGroupRequest, SyncGroupRequest
from kafka.structs import TopicPartition

from kafka_assignors import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FairAssignor,
    FairestStickyAssignor,
    RangeAssignor,
    make_continuous,
)
from kafka_assignors.metrics.names import COORDINATOR, OWN, OWN_GROUP, coordinator_group
from kafka_assignors.plan import Assignment, Claims, Group
from tests.support.group.joining import cluster, joined, raw
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer
from tests.unit.consumer.continuous.scripted import Scripted

JAVA = "consumer-coordinator-metrics"
NAMES = {metric.name for metric in (*COORDINATOR, *OWN)}


def rebalance(member: Scripted, *given: int, leads: bool = False) -> None:
    """Join a rebalance, plan if this member leads, and apply the assignment."""
    member.rebalance()
    if leads:
        lead(member.assignor)
    member.joined(*given)
    member.poll()


def lead(assignor: Any) -> None:
    """Plan for a group of one."""
    assignor.assign(cluster({"t": 3}), [joined("m", raw(["t"]))])


def test_member_records_its_rebalances_and_listener_calls(member: Any) -> None:
    scripted = member(1)
    scripted.rebalance()
    time.sleep(0.01)  # the time to measure
    scripted.answer_join()
    scripted.answer_sync(code=RebalanceInProgressError.errno)
    scripted.poll()
    scripted.joined(2)
    scripted.poll()
    values = scripted.consumer.metrics()
    java = values[JAVA]
    assert java["rebalance-total"] == 1
    assert java["failed-rebalance-total"] == 1
    assert 10 <= java["rebalance-latency-max"] == java["rebalance-latency-total"] < 60_000
    assert java["last-rebalance-seconds-ago"] >= 0
    assert java["partition-assigned-latency-max"] >= 0
    assert java["partition-revoked-latency-max"] >= 0
    assert math.isnan(java["partition-lost-latency-max"])
    assert java["assigned-partitions"] == 1  # kafka-python's own, in the same group
    assert math.isnan(values[OWN_GROUP]["partitions-kept"])


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("request_type", [JoinGroupRequest, SyncGroupRequest])
def test_failed_join_counts_when_it_fails(
    consumer: MakeConsumer, request_type: type, *, continuous: bool
) -> None:
    made = consumer(CooperativeStickyAssignor, enable_auto_commit=False, retry_backoff_ms=5)
    assert not continuous or make_continuous(made)
    scripted = Scripted(made, 1)
    scripted.rebalance()
    if request_type is SyncGroupRequest:
        scripted.answer_join()
    assert made.metrics()[JAVA]["failed-rebalance-total"] == 0
    scripted.fail(request_type, KafkaConnectionError("reset"))
    assert made.metrics()[JAVA]["failed-rebalance-total"] == 1
    scripted.poll()
    until(lambda: len(scripted.of(JoinGroupRequest)) == 2)
    scripted.joined(1)
    scripted.poll()
    java = made.metrics()[JAVA]
    assert (java["failed-rebalance-total"], java["rebalance-total"]) == (1, 1)
    scripted.end()


@pytest.mark.parametrize(
    "strategies",
    [
        [RangeAssignor],
        [CooperativeLagAwareAssignor],
        [FairestStickyAssignor, FairAssignor, RangeAssignor],
        [CooperativeStickyAssignor, CooperativeLagAwareAssignor],
    ],
)
def test_consumer_has_one_set_of_metrics_from_the_start(strategies: Any, consumer: MakeConsumer) -> None:
    made = consumer(*strategies, metric_group_prefix="mine")
    names = [name for name in made.metrics(raw=True) if name.name in NAMES and "cause" not in name.tags]
    assert {name.name for name in names} == NAMES
    assert len(names) == len(NAMES)
    assert {name.group for name in names} == {coordinator_group("mine"), OWN_GROUP}
    assert {name.tags["client-id"] for name in names} == {made.config["client_id"]}
    recorders = {id(assignor._access.recorder) for assignor in made._coordinator._assignors.values()}
    assert len(recorders) == 1


def test_disabled_metrics_leave_the_coordinator_alone(consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor, metrics_enabled=False)
    assert make_continuous(made)
    assert made.metrics() is None
    assert "_do_join_and_sync_async" not in vars(made._coordinator)
    assert "_invoke_rebalance_listener_async" not in vars(made._coordinator)
    scripted = Scripted(made, 1)
    rebalance(scripted, 1)
    assert scripted.owned == [1]
    scripted.end()


def test_rebalance_by_a_foreign_strategy_of_the_list_is_recorded(consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor, enable_auto_commit=False)
    assert make_continuous(made)
    made._coordinator._assignors["foreign"] = ForeignSticky()
    made._coordinator._assignors["foreign"].name = "foreign"
    strategies = made._coordinator._assignors
    made._coordinator._assignors = {"foreign": strategies["foreign"]}
    scripted = Scripted(made, 1)
    made._coordinator._assignors = strategies
    lead(strategies["cooperative-sticky"])
    for _ in range(2):
        rebalance(scripted, 1)
    values = made.metrics()
    assert values[JAVA]["rebalance-total"] == 2
    assert values[JAVA]["failed-rebalance-total"] == 0
    assert math.isnan(values[OWN_GROUP]["partitions-kept"])
    scripted.end()


def test_leader_records_its_plan_until_another_member_leads(member: Any) -> None:
    scripted = member(1)
    rebalance(scripted, 1, leads=True)
    own = scripted.consumer.metrics()[OWN_GROUP]
    assert own["rebalances-led-total"] == 1
    assert own["plan-time-ms"] > 0
    assert own["partition-spread"] == own["partitions-moved"] == 0
    rebalance(scripted, 1)
    own = scripted.consumer.metrics()[OWN_GROUP]
    assert own["rebalances-led-total"] == 1
    assert math.isnan(own["plan-time-ms"])


def test_fallbacks_are_counted(member: Any) -> None:
    class Broken(CooperativeStickyAssignor):
        def plan(self, group: Group, claims: Claims) -> Assignment:
            raise RuntimeError("a bug")

    scripted = member(strategy=Broken)
    rebalance(scripted, 1, leads=True)
    scripted.assignor._read = None
    rebalance(scripted, 2, leads=True)
    own = scripted.consumer.metrics()[OWN_GROUP]
    assert own["fallbacks-total"] == 2
    assert own["rebalances-led-total"] == 2


def test_lag_is_recorded_on_the_member_that_fetches_it(member: Any) -> None:
    def lag_source(_partitions: object) -> dict[TopicPartition, int]:
        raise ConnectionError("no route")

    scripted = member(1, strategy=CooperativeLagAwareAssignor.configured(lag_source=lag_source))
    scripted.assignor.assign(cluster({"t": 2}), [joined("m", raw(["t"])), joined("n", raw(["t"]))])
    rebalance(scripted, 1)
    own = scripted.consumer.metrics()[OWN_GROUP]
    assert own["lag-fetches-failed-total"] >= 1
    assert math.isnan(own["lag-age-seconds"])  # it has none yet


def test_lag_age_shows_once_owned_partitions_are_measured(member: Any) -> None:
    def lag_source(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)

    scripted = member(1, strategy=CooperativeLagAwareAssignor.configured(lag_source=lag_source))
    rebalance(scripted, 1)
    until(lambda: 0 <= scripted.consumer.metrics()[OWN_GROUP]["lag-age-seconds"] < 60)


def test_records_delivered_during_a_join_are_counted(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = member(1)
    records = {TopicPartition("t", 1): ["r"] * 7}
    monkeypatch.setattr(type(scripted.consumer), "_poll_once", lambda *_args, **_kwargs: records)
    assert scripted.consumer.poll() is records
    scripted.rebalance()
    assert scripted.of(JoinGroupRequest)
    for _ in range(2):
        assert scripted.consumer.poll() is records
    scripted.joined(1)
    scripted.poll()
    assert scripted.consumer.poll() is records
    assert scripted.consumer.metrics()[OWN_GROUP]["records-during-rebalance-total"] == 14


def test_unknown_listener_call_is_not_timed(consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def invoke(self: Any, method: str) -> None:
        pass

    monkeypatch.setattr(
        "kafka.coordinator.consumer.ConsumerCoordinator._invoke_rebalance_listener_async", invoke
    )
    made = consumer(RangeAssignor)
    assert "_invoke_rebalance_listener_async" not in vars(made._coordinator)
    assert "rebalance-total" in made.metrics()[JAVA]
