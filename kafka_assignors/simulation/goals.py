"""What is to be small, in the order in which it decides, and when two figures differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from kafka_assignors.simulation.outcome import Outcome

__all__ = ["COSTS", "GOALS", "NO_DIFFERENCE", "Goal"]

NO_DIFFERENCE = 0.15
"""Figures that differ by less than this part of the larger one do not differ: simulated runs come so close to
measured ones, and not closer."""

_APART = -math.log(1 - NO_DIFFERENCE)
_FLOOR = (1 - NO_DIFFERENCE) / NO_DIFFERENCE
"""Times what is no difference at all (``Goal.least``): so much is added to a figure before it is set beside
another.  Near nothing ``least`` is then just that part of the larger one, and 0 is not infinitely better."""


class Goal(NamedTuple):
    """What is to be small.

    Attributes:
        figure: its name.
        of: an outcome's.
        least: less than this is no difference either; None: it is there or not, and every difference counts.
        words: what it is called, with a place for its value.
    """

    figure: str
    of: Callable[[Outcome], float]
    least: float | None
    words: str

    def level(self, outcome: Outcome) -> float:
        """The figure on a scale on which differences are ratios."""
        value = self.of(outcome)
        return value if self.least is None else math.log(value + _FLOOR * self.least)

    def apart(self, one: float, other: float) -> bool:
        """Whether two levels differ by more than a simulation can be wrong."""
        return abs(one - other) > (0.0 if self.least is None else _APART)


def _time(seconds: float | None, outcome: Outcome) -> float:
    """One that never came counts as all the time there was."""
    return outcome.simulated_s if seconds is None else seconds


GOALS = (
    Goal("never_drained", lambda o: float(o.drain_s is None), None, "{:.0%} of situations never worked off"),
    Goal("time_lag_p99", lambda o: o.time_lag_p99, 0.5, "time lag (p99) {:,.1f} s"),
    Goal("recovery_s", lambda o: _time(o.recovery_s, o), 1.0, "{:,.1f} s until the lag is gone again"),
    Goal("drain_s", lambda o: _time(o.drain_s, o), 1.0, "drained in {:,.1f} s"),
    Goal(
        "largest_member_lag", lambda o: o.largest_member_lag, 10.0, "largest lag of a member {:,.0f} records"
    ),
    Goal("mean_lag", lambda o: o.mean_lag, 10.0, "mean lag {:,.0f} records"),
    Goal("pause_s", lambda o: o.pause_s, 1.0, "members paused for {:,.1f} s"),
    Goal("r_score", lambda o: o.r_score, 0.05, "R-score {:,.2f}"),
    Goal("moved", lambda o: float(o.moved), 0.5, "{:,.0f} partitions moved"),
)
"""In the order in which they decide."""

COSTS = frozenset({"pause_s", "r_score", "moved"})
"""Figures that are the price of the others."""
