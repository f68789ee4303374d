"""Reports a planned round: the log line, the metrics, and the ``PlanReport`` for ``on_plan``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from kafka_assignors.assignor.hooks import StrategyHooks
from kafka_assignors.assignor.options import PlanReport
from kafka_assignors.metrics import Recorder
from kafka_assignors.plan import Rebalance
from kafka_assignors.plan.cause import Cause, RebalanceCause

log = logging.getLogger("kafka_assignors")


def report_plan(
    strategy: StrategyHooks,
    result: Rebalance,
    seconds: float,
    causes: Sequence[RebalanceCause],
    recorder: Recorder,
) -> PlanReport:
    """Record the plan, which took ``seconds``, log its line, and return its report."""
    why = partial(
        result.explain,
        in_order=strategy.in_order,
        by_load=strategy.by_lag,
        overrides=strategy.reason_overrides(),
    )
    report = PlanReport(
        strategy.name,
        result.target,
        result.assigned,
        result.metrics,
        1000 * seconds,
        why,
        forecasts=strategy.forecasts,
        causes=tuple(causes),
    )
    recorder.record_plan(
        result,
        report.metrics,
        [cause.label for cause in causes],
        milliseconds=report.milliseconds,
        forecasts=report.forecasts,
    )
    log.info("rebalance %s", report.line(), extra={"rebalance": report.facts()})
    return report


def report_fallback(strategy: StrategyHooks, members: int) -> None:
    """Log the line of a rebalance whose plan failed."""
    name, fallback, cause = strategy.name, strategy.fallback.name, Cause.UNKNOWN.value
    facts = {"strategy": name, "fallback": fallback, "members": members, "cause": cause}
    line = f'strategy={name} fallback="{fallback}" members={members} cause="{cause}"'
    log.info("rebalance %s", line, extra={"rebalance": facts})
