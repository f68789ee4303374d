"""How long a step, a horizon and a gap are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from kafka_assignors.errors import OptionError

__all__ = ["QUARTER", "SECOND", "LoadSettings", "Reset"]

SECOND = 1_000_000
"""A second in microseconds, which all times in here are: whole numbers, since 1970 (UTC)."""

QUARTER = 900 * SECOND
"""A quarter of an hour: what the season is made of."""

Reset = Literal["earliest", "latest"]
_SHORTEST = 600.0  # s; the least that is bridged, if nothing is said
_MOST_STEPS_AHEAD = 10_000


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """What the load model is asked for.

    Args:
        step_s: length of a step, seconds; a whole number of them is a quarter of an hour.
        horizon_s: length of the forecast, seconds; a whole number of steps.
        delay_s: how long a sample may be behind the newest one of its partition before it is too late.
        max_gap_s: between two samples further apart nothing is known, seconds.  None: ten minutes, or three
            steps if that is more.
        reset: where the group's consumers start without a valid commit (``auto_offset_reset``).  A broker
            does not know that.

    ``step``, ``horizon``, ``delay`` and ``max_gap`` are the same in microseconds.

    Raises:
        OptionError: they do not fit together.
    """

    step_s: float = 60.0
    horizon_s: float = 3600.0
    delay_s: float = 120.0
    max_gap_s: float | None = None
    reset: Reset = "earliest"
    step: int = field(init=False, repr=False)
    horizon: int = field(init=False, repr=False)
    delay: int = field(init=False, repr=False)
    max_gap: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        longest = max(_SHORTEST, 3 * self.step_s) if self.max_gap_s is None else self.max_gap_s
        for name, seconds in (
            ("step", self.step_s), ("horizon", self.horizon_s), ("delay", self.delay_s), ("max_gap", longest),
        ):  # fmt: skip
            if not 0 <= seconds < math.inf:
                raise OptionError(f"{name}_s", f"{seconds} is not a number of seconds from 0 on")
            object.__setattr__(self, name, round(seconds * SECOND))
        if not 0.001 <= self.step_s <= 900 or QUARTER % self.step:
            raise OptionError(
                "step_s", f"a quarter of an hour is not a whole number of steps of {self.step_s:g} s"
            )
        if not self.step_s <= self.horizon_s <= _MOST_STEPS_AHEAD * self.step_s or self.horizon % self.step:
            raise OptionError(
                "horizon_s",
                f"{self.horizon_s:g} s are not 1 to {_MOST_STEPS_AHEAD:,} whole steps of {self.step_s:g} s",
            )
        if not 0 <= self.delay_s <= 86_400:
            raise OptionError("delay_s", f"{self.delay_s:g} is not 0 to 86,400 seconds")
        if self.max_gap_s is not None and not self.step_s <= self.max_gap_s <= 86_400:
            raise OptionError("max_gap_s", f"{self.max_gap_s:g} is not a step to 86,400 seconds")
        if self.reset not in get_args(Reset):
            raise OptionError("reset", f"{self.reset!r} is neither 'earliest' nor 'latest'")
