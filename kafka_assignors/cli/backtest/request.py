"""The assumptions of ``backtest`` for options that were not given.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_assignors.pipeline.backtest.grid import Grid, Trial
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.simulation import Scenario


def assumptions(
    grid: Grid, recorded: Sequence[Recorded], trials: Sequence[Trial], recorded_members: int | None
) -> Iterator[str]:
    """Yield notes on values assumed for options that were not given, and on forecasts without effect."""
    scenarios: dict[str, list[Scenario]] = {}
    for trial in trials:
        scenarios.setdefault(trial.group, []).append(trial.scenario)
    for recording in recorded:
        group, rate = recording.history.group, recording.history.service_rate
        if group not in scenarios:
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
            numbers = {scenario.members for scenario in scenarios[group]}
            yield (
                f"group {group!r}: {' or '.join(map(str, sorted(numbers)))} members, 1.3 times what the "
                "mean load needs, at least 2, but at most one a partition (--members)"
            )
        if not grid.churn:
            is_drawn = grid.replicates > 1
            churns = dict.fromkeys(
                ", ".join(step.kind for step in scenario.churn) if is_drawn else scenario.script
                for scenario in scenarios[group]
            )
            draws = f", {grid.replicates:,} draws of their times" if is_drawn else ""
            yield f"group {group!r}: churn {'; or '.join(churns)}{draws} (--churn)"
        delays = {scenario.forecast_delay_s for scenario in scenarios[group] if scenario.strategy.by_load}
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
