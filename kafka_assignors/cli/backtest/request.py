"""The trials that the options of ``backtest`` ask for, and the assumptions made.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_assignors.cli.backtest.options import Parameters
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.simulation import ChurnStep


@dataclass(frozen=True, slots=True)
class BacktestTrials:
    """The trials of a back-test.

    Attributes:
        trials: in the order of their numbers.
        left_out: group without a usable history -> reason.
    """

    trials: Sequence[Trial]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """The options of a back-test.

    Options that were not given are empty (``members``, ``churn``) or ``(None,)`` (``service_rates``).
    """

    strategies: tuple[str, ...]
    parameters: Parameters
    members: tuple[int, ...]
    churn: tuple[tuple[ChurnStep, ...], ...]
    scales: tuple[float, ...]
    service_rates: tuple[float | None, ...]
    replicates: int = 1
    seed: int = 0

    def trials(self, recorded: Sequence[Recorded]) -> BacktestTrials:
        """Return all combinations of the options, for each group with a usable history.

        Raises:
            OptionError: a combination is invalid, or no group has a usable history.
        """
        histories = [group.history for group in recorded]
        forecasts = any(history.expected is not None for history in histories)
        grid = Grid(
            candidates=candidates(self.strategies, self.parameters.choices, forecasts=forecasts),
            members=self.members,
            churn=self.churn,
            scales=self.scales,
            service_rates=self.service_rates,
            surroundings=self.parameters.surroundings,
            replicates=self.replicates,
            seed=self.seed,
        )
        return BacktestTrials(trials=grid.trials(histories), left_out=grid.left_out(histories))

    def assumptions(
        self, recorded: Sequence[Recorded], tried: BacktestTrials, recorded_members: int | None
    ) -> Iterator[str]:
        """Yield notes on values assumed for options that were not given, and on forecasts without effect."""
        firsts = {trial.group: trial.scenario for trial in reversed(tried.trials)}
        for recording in recorded:
            group, rate = recording.history.group, recording.history.service_rate
            if group not in firsts:
                continue
            if self.service_rates == (None,):
                how = (
                    f"the group's rate divided by its {recorded_members} members"
                    if recorded_members
                    else "the rate of the fastest partition during a backlog, a lower bound if its member "
                    "read other partitions, too"
                )
                yield f"group {group!r}: a member reads {rate:,.1f} records/s, {how} (--service-rate)"
            if not self.members:
                numbers = {trial.scenario.members for trial in tried.trials if trial.group == group}
                yield (
                    f"group {group!r}: {' or '.join(map(str, sorted(numbers)))} members, 1.3 times what the "
                    "mean load needs, at least 2, but at most one a partition (--members)"
                )
            if not self.churn:
                churn = firsts[group].script
                if self.replicates > 1:
                    kinds = ", ".join(step.kind for step in firsts[group].churn)
                    churn = f"{kinds}, {self.replicates:,} draws of their times"
                yield f"group {group!r}: churn {churn} (--churn)"
            delays = {
                trial.scenario.forecast_delay_s
                for trial in tried.trials
                if trial.group == group and trial.scenario.strategy.by_load
            }
            horizon_s = recording.history.horizon_s or 0.0
            if too_late := [f"{delay:g}" for delay in sorted(delays) if delay >= horizon_s]:
                yield (
                    f"group {group!r}: forecasts reach {horizon_s:g} s past their step, and have no effect "
                    f"if they are known {' or '.join(too_late)} s after it (--param forecast_delay_s)"
                )
            elif delays and "forecast_delay_s" not in self.parameters.surroundings:
                yield (
                    f"group {group!r}: forecasts are known {max(delays):g} s after their step, the default "
                    "--delay and --every of a pipeline (--param forecast_delay_s)"
                )
