"""Records the rebalances and plans of one consumer in its metrics registry."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Concatenate, NamedTuple, ParamSpec

from kafka.metrics import AnonMeasurable, Metrics
from kafka.metrics.measurable_stat import AbstractMeasurableStat
from kafka.metrics.stats import Count, Rate, Sensor, Total
from kafka.metrics.stats.rate import TimeUnit

from kafka_assignors.metrics.names import MEANINGS, OWN, OWN_GROUP, PLAN, coordinator_group
from kafka_assignors.metrics.plan_figures import Moves, new_moves, plan_figures
from kafka_assignors.metrics.stats import Avg, Max
from kafka_assignors.plan import Metrics as PlanMetrics
from kafka_assignors.plan import Rebalance
from kafka_assignors.plan.cause import Cause

log = logging.getLogger("kafka_assignors")

P = ParamSpec("P")

_NAN = float("nan")
_CAUSES = "rebalance-causes-total"
_LISTENER = {
    "on_partitions_assigned": "partition-assigned-latency",
    "on_partitions_revoked": "partition-revoked-latency",
    "on_partitions_lost": "partition-lost-latency",
}


def _guarded(method: Callable[Concatenate[Recorder, P], None]) -> Callable[Concatenate[Recorder, P], None]:
    """Do nothing without a registry, and never raise: a registry or reporter must not fail a rebalance."""

    @wraps(method)
    def guarded(self: Recorder, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.is_enabled:
            try:
                method(self, *args, **kwargs)
            except Exception:
                self.log_failure()

    return guarded


class _Plan(NamedTuple):
    """The values of a plan that are recorded when its round ends."""

    figures: Mapping[str, float] = MappingProxyType({})
    causes: Sequence[str] = ()
    moves: Moves = Moves(0, 0, frozenset())


class Recorder:
    """The metrics of one consumer, which all its strategies share.  No method raises."""

    def __init__(
        self, registry: Metrics | None, prefix: str = "consumer", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._registry: Any = registry
        self._clock = clock
        self._sensors: dict[str, Sensor] = {}
        self._has_failed = False
        self._is_joining = False  # whether an attempt is under way
        self._began_at: float | None = None  # time of the first attempt
        self._ended_at: float | None = None  # time of the last successful rebalance
        self._planned: _Plan | None = None  # in this attempt to join
        self._waiting: frozenset[tuple[str, int]] = frozenset()  # `Moves.waiting` of the last round
        self._figures: Mapping[str, float] = {}  # of the last rebalance's plan; empty: another member led it
        self._lag_age: Callable[[], float] | None = None
        self._register(coordinator_group(prefix))

    @property
    def is_enabled(self) -> bool:
        """Whether the consumer has a registry."""
        return self._registry is not None

    def log_failure(self) -> None:
        """Log the current exception, once: each further rebalance or reading would fail alike."""
        if not self._has_failed:
            log.warning("a metric cannot be recorded; others of the same event may be missing", exc_info=True)
        self._has_failed = True

    # --- rebalances, on every member ---

    @_guarded
    def begin_join(self) -> None:
        """Begin an attempt to join.  Each strategy of the consumer calls this in its ``metadata``."""
        self._is_joining, self._planned = True, None
        if self._began_at is None:
            self._began_at = self._clock()

    @_guarded
    def fail_join(self) -> None:
        """End an attempt that failed.  Calls after the first do nothing."""
        if self._is_joining:
            self._is_joining = False
            self._record("failed-rebalance", 1.0)

    @_guarded
    def end_join(self) -> None:
        """End a rebalance: the SyncGroup response arrived.  Calls after the first do nothing."""
        if self._began_at is None:
            return
        now, began_at = self._clock(), self._began_at
        self._is_joining, self._began_at = False, None
        self._end_plan()
        self._ended_at = now
        self._lag_age = None
        self._record("rebalance-latency", 1000 * (now - began_at))
        self._record("rebalance", 1.0)

    @_guarded
    def record_listener(self, method_name: str, seconds: float) -> None:
        """Record a call of the user's rebalance listener."""
        self._record(_LISTENER.get(method_name, ""), 1000 * seconds)

    @_guarded
    def record_delivered(self, records: int) -> None:
        """Record that ``poll()`` returned records during a join."""
        if records:
            self._record("records-during-rebalance-total", records)

    # --- plans, on the leader ---

    @_guarded
    def record_plan(
        self,
        result: Rebalance,
        metrics: PlanMetrics,
        causes: Sequence[str],
        *,
        milliseconds: float,
        forecasts: int | None,
    ) -> None:
        """Record a plan that this member made.

        ``metrics`` is ``result.metrics``, passed because each access measures again.  ``forecasts`` is the
        number of partitions with a forecast; None: the strategy has no forecasts.
        """
        moves = new_moves(result, metrics.moved, self._waiting)
        self._planned = _Plan(plan_figures(result, metrics, milliseconds, forecasts), causes, moves)

    def _end_plan(self) -> None:
        """Show and count the plan of this rebalance.  A round that was interrupted does not count."""
        is_led, planned, self._planned = self._planned is not None, self._planned or _Plan(), None
        self._figures, self._waiting = planned.figures, planned.moves.waiting
        self._record("rebalances-led-total", float(is_led))
        self._record("partitions-moved-total", float(planned.moves.moved))
        self._record("partitions-held-back-total", float(planned.moves.held_back))
        for cause in planned.causes:
            self._record(f"{_CAUSES}-{cause}", 1.0)
            self._record(_CAUSES, 1.0)

    @_guarded
    def record_fallback(self, *, is_unreported: bool = False) -> None:
        """Record a plan of the fallback.

        ``is_unreported``: there is no ``PlanReport``, so the gauges of the plan are NaN and the cause of the
        rebalance is unknown.
        """
        self._record("fallbacks-total", 1.0)
        if is_unreported:
            self._planned = _Plan(causes=(Cause.UNKNOWN.value,))

    # --- lag ---

    @_guarded
    def record_failed_lag_fetch(self) -> None:
        """Record a lag fetch that failed for some partition.  Any thread may call this."""
        self._record("lag-fetches-failed-total", 1.0)

    @_guarded
    def watch_lag(self, age_s: Callable[[], float]) -> None:
        """Show ``age_s()`` as the age of the member's own lag until the next rebalance ends."""
        self._lag_age = age_s

    # --- registration ---

    @_guarded
    def add_gauge(self, group: str, name: str, value: Callable[[float], float]) -> None:
        """Add a gauge that shows ``value``, a function of the registry's time in ms; NaN while it raises."""

        def measure(_config: object, now_ms: float) -> float:
            try:
                return float(value(now_ms))
            except Exception:  # must not fail the user's `consumer.metrics()`
                self.log_failure()
                return _NAN

        add = partial(self._registry.add_metric, measurable=AnonMeasurable(measure))
        self._register_metric(group, name, add)

    @_guarded
    def _register(self, group: str) -> None:
        latency = "rebalance-latency"
        self._add(latency, group, {f"{latency}-avg": Avg, f"{latency}-max": Max, f"{latency}-total": Total})
        for name in ("rebalance", "failed-rebalance"):
            rate = partial(Rate, TimeUnit.HOURS, sampled_stat=Count())
            self._add(name, group, {f"{name}-total": Total, f"{name}-rate-per-hour": rate})
        for name in _LISTENER.values():
            self._add(name, group, {f"{name}-avg": Avg, f"{name}-max": Max})
        for metric in OWN:
            if metric.name.endswith("-total") and metric.name != _CAUSES:
                self._add(metric.name, OWN_GROUP, {metric.name: Total})
        # Register all causes now, because Prometheus's `increase` misses a counter that appears at 1.
        for cause in Cause:
            self._add(f"{_CAUSES}-{cause.value}", OWN_GROUP, {_CAUSES: Total}, {"cause": cause.value})
        # The sum comes last, as `KafkaConsumer.metrics()` drops tags and shows the last one of a name.
        self._add(_CAUSES, OWN_GROUP, {_CAUSES: Total})
        self.add_gauge(group, "last-rebalance-seconds-ago", self._since_rebalance)
        self.add_gauge(OWN_GROUP, "lag-age-seconds", self._current_lag_age)
        for metric in PLAN:
            self.add_gauge(OWN_GROUP, metric.name, partial(self._plan_figure, metric.name))

    def _add(
        self,
        sensor_name: str,
        group: str,
        stats: Mapping[str, Callable[[], AbstractMeasurableStat]],
        tags: Mapping[str, str] | None = None,
    ) -> None:
        sensor = self._sensors[sensor_name] = self._registry.sensor(f"kafka-assignors-{sensor_name}")
        for name, stat in stats.items():
            self._register_metric(group, name, partial(sensor.add, stat=stat()), tags)

    def _register_metric(
        self, group: str, name: str, add: Callable[..., None], tags: Mapping[str, str] | None = None
    ) -> None:
        """Register one metric; the others are registered even if a reporter refuses it."""
        try:
            add(self._registry.metric_name(name, group, MEANINGS[name], dict(tags or {})))
        except Exception:
            self.log_failure()

    def _record(self, sensor_name: str, value: float) -> None:
        if (sensor := self._sensors.get(sensor_name)) is not None:
            sensor.record(value, 1000 * self._clock())

    def _since_rebalance(self, now_ms: float) -> float:
        return -1.0 if self._ended_at is None else now_ms / 1000 - self._ended_at

    def _current_lag_age(self, _now_ms: float) -> float:
        age_s = self._lag_age
        return _NAN if age_s is None else age_s()

    def _plan_figure(self, name: str, _now_ms: float) -> float:
        return self._figures.get(name, _NAN)


NO_METRICS = Recorder(None)
"""Records nothing: for an assignor without a consumer, or whose consumer's metrics are disabled."""
