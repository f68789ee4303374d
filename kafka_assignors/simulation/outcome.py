"""The figures of a simulated scenario, and the goals: figures to minimise, the most important first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.scenario import Parameter

NO_DIFFERENCE = 0.15
"""Two figures, except a yes or no, count as equal if they differ by at most this part of the larger one,
because simulated figures differ from measured ones by as much."""

_APART = -math.log(1 - NO_DIFFERENCE) + 1e-9  # rounding must not decide
_FLOOR = (1 - NO_DIFFERENCE) / NO_DIFFERENCE
"""This many times ``RankedFigure.least`` is added to both figures before their ratio is taken.  So figures
from 0 to ``least`` count as equal, and 0 is not infinitely better than any other figure."""


class Situation(NamedTuple):
    """The conditions in which strategies are compared.

    If other conditions differ (pauses, capacities, owners), the histories must have different names.
    """

    group: str
    history: str
    members: int
    churn: str
    service_rate: float


@dataclass(frozen=True, slots=True)
class Move:
    """Member ``taker`` gained ``partition``, whose last owner was ``giver``, at ``at`` seconds."""

    at: float
    partition: int
    giver: str
    taker: str


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Figures at the start, at the end of each step, and at the end of the simulation.

    Steps go on after the history.  All arrays have the same shape (times,).

    Attributes:
        at: seconds since the start.
        lag: unread records of all partitions.
        largest_member_lag: largest lag of one member, records.
        unowned_lag: lag of partitions without an owner, records.
        time_lag: age of the oldest unread record of all partitions, seconds.
        members: number of members in the group.
    """

    at: Levels
    lag: Levels
    largest_member_lag: Levels
    unowned_lag: Levels
    time_lag: Levels
    members: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The figures of one scenario.  docs/reference/backtest.md defines the fields that are not listed here.

    Attributes:
        history: name of the history, as in the scenario.
        moves: the moves one by one.
        series: the series; None if not requested.
        time_lags: ``time_lag_max`` by partition.
    """

    group: str
    history: str
    strategy: str
    parameters: Mapping[str, Parameter]
    members: int
    churn: str
    service_rate: float
    arrived: int
    served: float
    left: float
    drain_s: float | None
    recovery_s: float | None
    largest_lag: float
    mean_lag: float
    largest_member_lag: float
    time_lag_p50: float
    time_lag_p99: float
    time_lag_max: float
    moved: int
    r_score: float
    r_score_mean: float
    rebalances: int
    pause_s: float
    unserved_s: float
    simulated_s: float
    moves: tuple[Move, ...] = ()
    series: Series | None = None
    time_lags: Levels = field(default_factory=lambda: np.zeros(0))

    @property
    def situation(self) -> Situation:
        """The conditions of this outcome.  Strategies are compared by outcomes with the same conditions."""
        return Situation(self.group, self.history, self.members, self.churn, self.service_rate)

    def figures(self) -> dict[str, Any]:
        """Return all fields except ``moves``, ``series`` and ``time_lags``, as a row of a table."""
        left_out = {"moves", "series", "time_lags"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}


class RankedFigure(NamedTuple):
    """A figure to minimise.

    Attributes:
        figure: its name.
        of: returns the figure of an outcome.
        least: a difference from 0 counts if it is larger than this.  None: the figure is 1 or 0 (yes or no),
            and every difference counts.
        words: a text with a placeholder for the value.
    """

    figure: str
    of: Callable[[Outcome], float]
    least: float | None
    words: str

    def level(self, outcome: Outcome) -> float:
        """Return the figure on a logarithmic scale, so ratios become differences; a yes or no as it is."""
        value = self.of(outcome)
        return value if self.least is None else math.log(value + _FLOOR * self.least)

    def differs(self, level: float, other: float) -> bool:
        """Return whether two levels differ by more than the error of a simulation."""
        return abs(level - other) > (0.0 if self.least is None else _APART)


def _time(seconds: float | None, outcome: Outcome) -> float:
    """Return the seconds; the whole simulated time if the event never occurred."""
    return outcome.simulated_s if seconds is None else seconds


GOALS = (
    RankedFigure(
        "never_drained", lambda o: float(o.drain_s is None), None, "{:.0%} of situations never drained"
    ),
    RankedFigure("time_lag_p99", lambda o: o.time_lag_p99, 0.5, "time lag (p99) {:,.1f} s"),
    RankedFigure("recovery_s", lambda o: _time(o.recovery_s, o), 1.0, "{:,.1f} s until the lag is as before"),
    RankedFigure("drain_s", lambda o: _time(o.drain_s, o), 1.0, "drained in {:,.1f} s"),
    RankedFigure(
        "largest_member_lag", lambda o: o.largest_member_lag, 10.0, "largest lag of a member {:,.0f} records"
    ),
    RankedFigure("mean_lag", lambda o: o.mean_lag, 10.0, "mean lag {:,.0f} records"),
    RankedFigure("pause_s", lambda o: o.pause_s, 1.0, "members paused for {:,.1f} s"),
    RankedFigure("r_score", lambda o: o.r_score, 0.05, "R-score {:,.2f}"),
    RankedFigure("moved", lambda o: float(o.moved), 0.5, "{:,.0f} partitions moved"),
)
"""The goals, the most important first."""

COSTS = frozenset({"pause_s", "r_score", "moved"})
"""Figures that are costs of a rebalance."""
