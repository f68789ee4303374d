"""The assumptions of ``backtest`` for options that were not given.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_assignors.pipeline.backtest.grid import Grid, Trial
from kafka_assignors.pipeline.backtest.recorded import Recorded


def assumptions(
    grid: Grid, recorded: Sequence[Recorded], trials: Sequence[Trial], recorded_members: int | None
) -> Iterator[str]:
    """Yield notes on values assumed for options that were not given, and on forecasts without effect."""
    first_scenarios = {trial.group: trial.scenario for trial in reversed(trials)}
    for recording in recorded:
        group, rate = recording.history.group, recording.history.service_rate
        if group not in first_scenarios:
            continue
        if grid.service_rates == (None,):
            how = (
                f"the group's rate divided by its {recorded_members} members"
                if recorded_members
                else "the rate of the fastest partition during a backlog, a lower bound if its member "
                "read other partitions, too"
            )
            yield f"group {group!r}: a member reads {rate:,.1f} records/s, {how} (--service-rate)"
        if not grid.members:
            numbers = {trial.scenario.members for trial in trials if trial.group == group}
            yield (
                f"group {group!r}: {' or '.join(map(str, sorted(numbers)))} members, 1.3 times what the "
                "mean load needs, at least 2, but at most one a partition (--members)"
            )
        if not grid.churn:
            churn = first_scenarios[group].script
            if grid.replicates > 1:
                kinds = ", ".join(step.kind for step in first_scenarios[group].churn)
                churn = f"{kinds}, {grid.replicates:,} draws of their times"
            yield f"group {group!r}: churn {churn} (--churn)"
        delays = {
            trial.scenario.forecast_delay_s
            for trial in trials
            if trial.group == group and trial.scenario.strategy.by_load
        }
        horizon_s = recording.history.horizon_s or 0.0
        if too_late := [f"{delay:g}" for delay in sorted(delays) if delay >= horizon_s]:
            yield (
                f"group {group!r}: forecasts reach {horizon_s:g} s past their step, and have no effect "
                f"if they are known {' or '.join(too_late)} s after it (--param forecast_delay_s)"
            )
        elif delays and "forecast_delay_s" not in grid.surroundings:
            yield (
                f"group {group!r}: forecasts are known {max(delays):g} s after their step, as in a "
                "pipeline with its defaults (--param forecast_delay_s)"
            )
