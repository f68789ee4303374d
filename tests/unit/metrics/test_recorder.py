"""``Recorder`` with a clock of the test's."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kafka.metrics import DictReporter, MetricConfig, Metrics

from kafka_assignors.metrics import NO_METRICS, Recorder, plan_figures, prometheus
from kafka_assignors.metrics.exported import ExportedConsumers
from kafka_assignors.metrics.names import COORDINATOR, OWN, OWN_GROUP
from kafka_assignors.plan import NO_MEMBER, Assignment, Group, Member, rebalance
from kafka_assignors.plan.cause import Cause
from tests.support.clock import Clock
from tests.unit.metrics.members import Member as ConsumerWithMetrics

JAVA = "consumer-coordinator-metrics"


class Recorded:
    """A recorder with its registry and clock."""

    def __init__(self, *reporters: object) -> None:
        self.clock = Clock(1000.0)
        self.registry = Metrics(MetricConfig(tags={"client-id": "c"}), list(reporters))
        self.recorder = Recorder(self.registry, "consumer", self.clock)

    def value(self, name: str, group: str = JAVA, **tags: str) -> float:
        """Return a metric's current value."""
        key = self.registry.metric_name(name, group, tags=tags)
        return float(self.registry.metrics[key].value(1000 * self.clock.now))

    def own(self, name: str, **tags: str) -> float:
        """Return one of our own metrics."""
        return self.value(name, OWN_GROUP, **tags)

    def join(self, seconds: float, *, strategies: int = 1, fails: bool = False) -> None:
        """Attempt to join for some seconds."""
        for _strategy in range(strategies):
            self.recorder.begin_join()
        self.clock.now += seconds
        for _again in range(2):
            if fails:
                self.recorder.fail_join()
            else:
                self.recorder.end_join()

    def lead(self, *args: Any, **options: Any) -> None:
        """Join as the leader, with a plan as of `record_plan`."""
        self.recorder.begin_join()
        record_plan(self.recorder, *args, **options)
        self.recorder.end_join()


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def record_plan(
    recorder: Recorder,
    causes: Sequence[str] = (),
    lags: list[int] | None = None,
    *,
    held: bool = False,
    forecasts: int | None = None,
    owned: Sequence[int] = (0, 1, 2),
) -> None:
    """Record a plan of one topic with three partitions for two members, the first of which owned all.

    Args:
        recorder: the recorder.
        causes: labels of the rebalance's causes.
        lags: of the partitions.
        held: whether the group is cooperative, so that partition 2 waits for the first member.
        forecasts: number of partitions with a forecast.
        owned: the partitions that the first member claims.
    """
    members = (
        Member("m0", frozenset({"t"}), {"t": owned}, generation=1, still_owns=held),
        Member("m1", frozenset({"t"})),
    )
    group = Group(members, {"t": 3}, lags={} if lags is None else {"t": lags})
    target = Assignment(group, np.array([0, 0, 1], np.int32))
    result = rebalance(group, lambda *_: target)
    recorder.record_plan(result, result.metrics, causes, milliseconds=12.5, forecasts=forecasts)


# --- rebalances


def test_rebalance_counts_from_its_first_attempt(recorded: Recorded) -> None:
    recorded.join(2.0, fails=True)
    recorded.join(1.0)
    recorded.clock.now += 10
    recorded.join(1.0)
    assert recorded.value("rebalance-total") == 2
    assert recorded.value("failed-rebalance-total") == 1
    assert recorded.value("rebalance-latency-avg") == pytest.approx(2000)
    assert recorded.value("rebalance-latency-max") == pytest.approx(3000)
    assert recorded.value("rebalance-latency-total") == pytest.approx(4000)
    recorded.clock.now += 5
    assert recorded.value("last-rebalance-seconds-ago") == pytest.approx(5)


def test_rates_are_per_hour(recorded: Recorded) -> None:
    for _ in range(3):
        recorded.join(0.0, fails=True)
    recorded.join(0.0)
    recorded.clock.now += 30  # one of the two windows
    assert recorded.value("rebalance-rate-per-hour") == pytest.approx(120)
    assert recorded.value("failed-rebalance-rate-per-hour") == pytest.approx(360)


def test_several_strategies_make_one_attempt(recorded: Recorded) -> None:
    recorded.join(1.0, strategies=2)
    assert recorded.value("failed-rebalance-total") == 0
    recorded.join(1.0, strategies=2, fails=True)
    recorded.join(1.0, strategies=2)
    assert recorded.value("failed-rebalance-total") == 1
    assert recorded.value("rebalance-total") == 2


def test_initial_values_match_javas(recorded: Recorded) -> None:
    for metric in COORDINATOR:
        value = recorded.value(metric.name)
        if metric.name.endswith(("-avg", "-max")):
            assert math.isnan(value), metric.name
        else:
            assert value == (-1 if metric.name.endswith("-ago") else 0), metric.name


def test_average_and_maximum_are_nan_again_after_the_windows(recorded: Recorded) -> None:
    recorded.join(1.0)
    recorded.clock.now += 61
    assert math.isnan(recorded.value("rebalance-latency-avg"))
    assert math.isnan(recorded.value("rebalance-latency-max"))
    assert recorded.value("rebalance-latency-total") == pytest.approx(1000)


def test_listener_calls_are_timed_by_kind(recorded: Recorded) -> None:
    recorded.recorder.record_listener("on_partitions_assigned", 0.1)
    recorded.recorder.record_listener("on_partitions_assigned", 0.3)
    recorded.recorder.record_listener("on_partitions_lost", 0.7)
    recorded.recorder.record_listener("another", 9.0)
    assert recorded.value("partition-assigned-latency-avg") == pytest.approx(200)
    assert recorded.value("partition-assigned-latency-max") == pytest.approx(300)
    assert recorded.value("partition-lost-latency-max") == pytest.approx(700)
    assert math.isnan(recorded.value("partition-revoked-latency-max"))


# --- plans


def test_leader_shows_its_plan_and_nan_when_another_member_leads(recorded: Recorded) -> None:
    recorded.lead(("joined", "topic-grew"), [5, 5, 10], held=True, forecasts=2)
    figures = {
        "plan-time-ms": 12.5,
        "partitions-kept": 2,
        "partitions-moved": 1,
        "partitions-held-back": 1,
        "partition-spread": 1,
        "largest-load": 10,
        "largest-load-bound": 10,
        "forecasts-used": 2,
        "rebalances-led-total": 1,
    }
    assert {name: recorded.own(name) for name in figures} == figures
    assert recorded.own("rebalance-causes-total", cause="joined") == 1
    assert recorded.own("rebalance-causes-total", cause="topic-grew") == 1
    recorded.join(1.0)
    gauges = [name for name in figures if not name.endswith("-total")]
    assert all(math.isnan(recorded.own(name)) for name in gauges)
    assert recorded.own("rebalances-led-total") == 1


def test_reader_of_a_plan_computes_nothing(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded.lead(lags=[5, 5, 10])
    monkeypatch.setattr(plan_figures, "quick_lag_bound", None)
    assert recorded.own("largest-load-bound") == 10


def test_plan_of_a_failed_attempt_is_dropped_if_another_member_leads_the_next(recorded: Recorded) -> None:
    recorded.recorder.begin_join()
    record_plan(recorded.recorder)
    recorded.join(1.0)
    assert math.isnan(recorded.own("partitions-kept"))


def test_figures_that_a_strategy_lacks_are_nan(recorded: Recorded) -> None:
    recorded.lead()
    assert recorded.own("partitions-kept") == 2
    for name in ("largest-load", "largest-load-bound", "forecasts-used"):
        assert math.isnan(recorded.own(name)), name


def test_unreported_fallback_has_no_figures_and_counts_as_led(recorded: Recorded) -> None:
    recorded.lead()
    recorded.recorder.begin_join()
    recorded.recorder.record_fallback(is_unreported=True)
    recorded.recorder.end_join()
    assert recorded.own("fallbacks-total") == 1
    assert recorded.own("rebalances-led-total") == 2
    assert recorded.own("rebalance-causes-total", cause="unknown") == 1
    assert math.isnan(recorded.own("partitions-kept"))


@pytest.mark.parametrize("busy_rounds", [0, 2])
def test_move_counts_once_in_all_rounds_of_a_cooperative_rebalance(
    recorded: Recorded, busy_rounds: int
) -> None:
    """A scrape after the last round misses none; a busy member revokes its partitions rounds later."""
    for _round in range(1 + busy_rounds):
        recorded.lead(held=True)
    recorded.lead(held=True, owned=[0, 1])
    assert recorded.own("partitions-moved") == recorded.own("partitions-held-back") == 0
    assert recorded.own("partitions-moved-total") == recorded.own("partitions-held-back-total") == 1
    recorded.lead(held=True)  # the next rebalance moves it again
    assert recorded.own("partitions-moved-total") == recorded.own("partitions-held-back-total") == 2


def test_move_of_a_contested_partition_counts_once(recorded: Recorded) -> None:
    """It stays with a claimant for a round that counts nothing, and moves in the next two."""
    owners = []
    for claimants in ("ab", "a", ""):
        members = tuple(
            Member(name, frozenset({"t"}), {"t": [0]}, generation=1, still_owns=True)
            if name in claimants
            else Member(name, frozenset({"t"}))
            for name in "abc"
        )
        group = Group(members, {"t": 1})
        target = Assignment(group, np.array([2], np.int32))
        result = rebalance(group, lambda *_, target=target: target)
        owners += result.assigned.owners.tolist()
        recorded.recorder.begin_join()
        recorded.recorder.record_plan(result, result.metrics, (), milliseconds=0, forecasts=None)
        recorded.recorder.end_join()
    assert owners == [0, NO_MEMBER, 2]
    assert recorded.own("partitions-moved-total") == recorded.own("partitions-held-back-total") == 1


def test_all_causes_count_from_0_and_their_sum_is_what_metrics_without_tags_show() -> None:
    """A reporter of the user's gets no metric during a rebalance, and ``increase`` sees the first one."""
    reporter = Reporter("nothing refused")
    recorded = Recorded(reporter)
    assert all(recorded.own("rebalance-causes-total", cause=cause.value) == 0 for cause in Cause)
    registered = list(reporter.seen)
    recorded.lead(("joined", "topic-grew"))
    assert reporter.seen == registered
    shown = {name.name: metric for name, metric in recorded.registry.metrics.items()}
    assert shown["rebalance-causes-total"].value() == recorded.own("rebalance-causes-total") == 2
    member, exported = ConsumerWithMetrics(), ExportedConsumers(prometheus._family)
    member.registry = recorded.registry
    exported.add(member)
    causes = [value for value in exported.read() if value.family.name.endswith("rebalance_causes_total")]
    assert {value.tags.get("cause") for value in causes} == {cause.value for cause in Cause}


def test_lag_age_ends_with_the_next_rebalance(recorded: Recorded) -> None:
    assert math.isnan(recorded.own("lag-age-seconds"))
    recorded.recorder.watch_lag(lambda: 3.0)
    assert recorded.own("lag-age-seconds") == 3
    recorded.join(1.0)
    assert math.isnan(recorded.own("lag-age-seconds"))
    recorded.recorder.watch_lag(lambda: 1 / 0)
    assert math.isnan(recorded.own("lag-age-seconds")), "a failure"


# --- failures


class Reporter(DictReporter):  # type: ignore[misc]
    """Refuses metrics with a word in their name."""

    def __init__(self, refused: str) -> None:
        super().__init__()
        self.refused = refused
        self.seen: list[str] = []

    def metric_change(self, metric: Any) -> None:
        """Note or refuse a metric."""
        if self.refused in metric.metric_name.name:
            raise RuntimeError("no such table")
        self.seen.append(metric.metric_name.name)


def test_reporter_that_refuses_a_metric_gets_the_others(caplog: pytest.LogCaptureFixture) -> None:
    reporter = Reporter("rebalance-latency")
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        recorded = Recorded(reporter)
        recorded.join(1.0)
    names = {metric.name for metric in (*COORDINATOR, *OWN)}
    missing = names - set(reporter.seen)
    assert missing == {f"rebalance-latency-{of}" for of in ("avg", "max", "total")}
    assert recorded.value("rebalance-total") == 1
    assert len(caplog.records) == 1


def test_registry_that_fails_raises_nothing() -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("closed")

    recorder = Recorder(SimpleNamespace(sensor=fail, metric_name=fail, add_metric=fail))
    recorder.begin_join()
    record_plan(recorder, ("joined",))
    recorder.end_join()


def test_without_a_registry_nothing_is_kept() -> None:
    NO_METRICS.begin_join()
    record_plan(NO_METRICS)
    assert not NO_METRICS.is_enabled
    assert NO_METRICS._planned is None
    assert not NO_METRICS._is_joining


def test_every_metric_is_registered() -> None:
    registered = {name.name for name in Recorded().registry.metrics} - {"count"}
    assert registered == {metric.name for metric in (*COORDINATOR, *OWN)}


def test_round_that_is_interrupted_counts_no_plan(recorded: Recorded) -> None:
    """The leader plans again, and its rebalance is one."""
    recorded.recorder.begin_join()
    record_plan(recorded.recorder, ("joined",))
    recorded.lead(("joined",))
    assert recorded.own("rebalances-led-total") == 1
    assert recorded.own("rebalance-causes-total", cause="joined") == 1
