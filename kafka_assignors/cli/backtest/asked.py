"""Pure: what was asked of ``backtest``, as trials on what was recorded, and what had to be assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_assignors.cli.backtest.options import Parameters
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.simulation import Step

__all__ = ["Asked", "Tried"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What is tried out.

    Attributes:
        trials: in the order of their numbers.
        left_out: groups that cannot be tried, each with the reason.
    """

    trials: Sequence[Trial]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """What to try, as it was given; empty: not given."""

    strategies: tuple[str, ...]
    parameters: Parameters
    members: tuple[int, ...]
    churn: tuple[tuple[Step, ...], ...]
    scales: tuple[float, ...]
    service_rates: tuple[float | None, ...]

    def tried(self, recorded: Sequence[Recorded]) -> Tried:
        """All combinations, on each group that can be tried.

        Raises:
            OptionError: a combination makes no sense, or no group can be tried.
        """
        histories = [one.history for one in recorded]
        forecasts = any(history.expected is not None for history in histories)
        grid = Grid(
            candidates=candidates(self.strategies, self.parameters.choices, forecasts=forecasts),
            members=self.members,
            churn=self.churn,
            scales=self.scales,
            service_rates=self.service_rates,
            surroundings=self.parameters.surroundings,
        )
        return Tried(trials=grid.trials(histories), left_out=grid.left_out(histories))

    def assumed(
        self, recorded: Sequence[Recorded], tried: Tried, recorded_members: int | None
    ) -> Iterator[str]:
        """What nobody said and was taken from the history, or made up."""
        firsts = {trial.group: trial.scenario for trial in reversed(tried.trials)}
        for one in recorded:
            group, rate = one.history.group, one.history.service_rate
            if group not in firsts:
                continue
            if self.service_rates == (None,):
                how = (
                    f"as {recorded_members} members did together"
                    if recorded_members
                    else "as its fastest partition was read while it had a backlog; more, if its member was "
                    "busy with others, too"
                )
                yield f"group {group!r}: a member reads {rate:,.1f} records/s, {how} (--service-rate)"
            if not self.members:
                yield f"group {group!r}: {firsts[group].members} members, by the mean load (--members)"
            if not self.churn:
                yield f"group {group!r}: {','.join(map(str, firsts[group].churn))} (--churn)"
