"""Metrics of two real members, on a real broker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.metrics import DictReporter

from kafka_assignors import ContinuousConsumer, CooperativeStickyAssignor, FairAssignor, RangeAssignor
from kafka_assignors.assignor.coordinator_access.consumer import is_settled
from kafka_assignors.metrics.names import COORDINATOR, OWN, OWN_GROUP
from tests.integration.conftest import FreshNames
from tests.integration.groups.continuous.polled import Polled
from tests.support.waiting import until

JAVA = "consumer-coordinator-metrics"
NAMES = {metric.name for metric in (*COORDINATOR, *OWN)}

REPORTERS: list[Reporter] = []


class Reporter(DictReporter):
    """A ``metric_reporters`` class that the test can read; one instance for each consumer."""

    def __init__(self) -> None:
        super().__init__()
        REPORTERS.append(self)

    def value(self, name: str) -> float:
        """Return a metric's value, as this reporter sees it."""
        (value,) = [metrics[name] for metrics in self.snapshot().values() if name in metrics]
        return float(value)


def java(member: Polled, name: str) -> float:
    """Return one of the coordinator's metrics."""
    return float(member.consumer.metrics()[JAVA][name])


def own(member: Polled, name: str) -> float:
    """Return one of our own metrics."""
    return float(member.consumer.metrics()[OWN_GROUP][name])


@pytest.fixture
def member(fresh: FreshNames) -> Iterator[Callable[..., Polled]]:
    """Makes members of one group."""
    group, topic = fresh.group(), fresh.topic(6)
    REPORTERS.clear()
    with KafkaProducer(bootstrap_servers=fresh.bootstrap) as producer:
        for number in range(300):
            producer.send(topic, b"x", partition=number % 6)
    with ExitStack() as stack:

        def make(kind: type[KafkaConsumer], *strategies: type) -> Polled:
            consumer = kind(
                topic,
                bootstrap_servers=fresh.bootstrap,
                group_id=group,
                partition_assignment_strategy=list(strategies),
                session_timeout_ms=6000,
                heartbeat_interval_ms=300,
                auto_offset_reset="earliest",
                max_poll_records=1,
                metric_reporters=[Reporter],
            )
            return stack.enter_context(Polled(stack.enter_context(consumer), commits=False))

        yield make


def have_equal_shares(*members: Polled) -> bool:
    """Whether all own equally many partitions, in the generation that is the newest to all of them."""
    coordinators = [member.consumer._coordinator for member in members]
    return (
        len({coordinator._generation.generation_id for coordinator in coordinators}) == 1
        and all(is_settled(member.consumer) for member in members)
        and all(len(member.consumer.assignment()) == 6 // len(members) for member in members)
    )


@pytest.mark.parametrize(
    ("kind", "strategies"),
    [
        (KafkaConsumer, [RangeAssignor]),
        (KafkaConsumer, [FairAssignor, RangeAssignor]),
        (ContinuousConsumer, [CooperativeStickyAssignor]),
    ],
    ids=["eager", "two strategies", "continuous"],
)
def test_both_members_and_their_reporters_have_the_metrics(member: Any, kind: Any, strategies: Any) -> None:
    first = member(kind, *strategies)
    until(lambda: have_equal_shares(first))
    assert own(first, "rebalances-led-total") >= 1
    assert own(first, "plan-time-ms") > 0
    before = java(first, "rebalance-total")

    second = member(kind, *strategies)
    until(lambda: have_equal_shares(first, second))
    assert java(first, "rebalance-total") > before
    # The broker answers a new member's first JoinGroup with a member id: a failed attempt, as in Java.
    assert java(second, "failed-rebalance-total") >= 1
    assert own(first, "plan-time-ms") > 0
    assert own(first, "rebalances-led-total") >= 2
    assert math.isnan(own(second, "plan-time-ms"))
    assert own(second, "rebalances-led-total") == 0
    raw = first.consumer.metrics(raw=True)
    assert [metric.value() for name, metric in raw.items() if name.tags.get("cause") == "joined"] >= [1]
    for polled, reporter in zip((first, second), REPORTERS, strict=True):
        values = polled.consumer.metrics()
        assert values[JAVA].keys() | values[OWN_GROUP].keys() >= NAMES
        assert 0 < values[JAVA]["rebalance-latency-avg"] <= values[JAVA]["rebalance-latency-max"] < 60_000
        assert values[JAVA]["rebalance-latency-total"] >= values[JAVA]["rebalance-latency-max"]
        assert 0 <= values[JAVA]["last-rebalance-seconds-ago"] < 60
        assert values[JAVA]["rebalance-rate-per-hour"] > 0
        for name in ("rebalance-total", "rebalances-led-total"):
            assert reporter.value(name) == (values[JAVA] | values[OWN_GROUP])[name]


def test_records_delivered_during_a_rebalance_are_counted(member: Any) -> None:
    first = member(ContinuousConsumer, CooperativeStickyAssignor)
    busy = member(KafkaConsumer, CooperativeStickyAssignor)
    until(lambda: have_equal_shares(first, busy))
    busy.is_polling.clear()
    third = member(ContinuousConsumer, CooperativeStickyAssignor)
    until(lambda: not is_settled(first.consumer))  # the broker waits for the busy member
    producer = KafkaProducer(bootstrap_servers=first.consumer.config["bootstrap_servers"])

    def has_delivered() -> bool:
        for partition in first.consumer.assignment():
            producer.send(partition.topic, b"x", partition=partition.partition)
        return bool(own(first, "records-during-rebalance-total") > 0)

    until(has_delivered)
    producer.close()
    busy.is_polling.set()
    until(lambda: have_equal_shares(first, busy, third))
    assert own(busy, "records-during-rebalance-total") == 0
