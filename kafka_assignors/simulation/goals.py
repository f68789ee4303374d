"""The figures to minimise, in the order of their importance, and when two figures differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from kafka_assignors.simulation.outcome import Outcome

NO_DIFFERENCE = 0.15
"""Two figures are equal if they differ by less than this part of the larger one.  Simulated figures are no
closer to measured ones."""

_APART = -math.log(1 - NO_DIFFERENCE)
_FLOOR = (1 - NO_DIFFERENCE) / NO_DIFFERENCE
"""This many times ``RankedFigure.least`` is added to figures before their ratio is taken.  Near 0 a
difference of ``least`` then is that part of the larger figure, and 0 is not infinitely better."""


class RankedFigure(NamedTuple):
    """A figure to minimise.

    Attributes:
        figure: its name.
        of: returns the figure of an outcome.
        least: smaller differences do not count.  None: a yes or no, every difference counts.
        words: its text, with a placeholder for the value.
    """

    figure: str
    of: Callable[[Outcome], float]
    least: float | None
    words: str

    def level(self, outcome: Outcome) -> float:
        """Return the figure on a logarithmic scale, on which ratios are differences."""
        value = self.of(outcome)
        return value if self.least is None else math.log(value + _FLOOR * self.least)

    def apart(self, level: float, other: float) -> bool:
        """Return whether two levels differ by more than the error of a simulation."""
        return abs(level - other) > (0.0 if self.least is None else _APART)


def _time(seconds: float | None, outcome: Outcome) -> float:
    """Return the seconds; the whole simulated time if the event never occurred."""
    return outcome.simulated_s if seconds is None else seconds


GOALS = (
    RankedFigure(
        "never_drained", lambda o: float(o.drain_s is None), None, "{:.0%} of situations never worked off"
    ),
    RankedFigure("time_lag_p99", lambda o: o.time_lag_p99, 0.5, "time lag (p99) {:,.1f} s"),
    RankedFigure(
        "recovery_s", lambda o: _time(o.recovery_s, o), 1.0, "{:,.1f} s until the lag is gone again"
    ),
    RankedFigure("drain_s", lambda o: _time(o.drain_s, o), 1.0, "drained in {:,.1f} s"),
    RankedFigure(
        "largest_member_lag", lambda o: o.largest_member_lag, 10.0, "largest lag of a member {:,.0f} records"
    ),
    RankedFigure("mean_lag", lambda o: o.mean_lag, 10.0, "mean lag {:,.0f} records"),
    RankedFigure("pause_s", lambda o: o.pause_s, 1.0, "members paused for {:,.1f} s"),
    RankedFigure("r_score", lambda o: o.r_score, 0.05, "R-score {:,.2f}"),
    RankedFigure("moved", lambda o: float(o.moved), 0.5, "{:,.0f} partitions moved"),
)
"""In the order of their importance."""

COSTS = frozenset({"pause_s", "r_score", "moved"})
"""Figures that are costs of a rebalance."""
