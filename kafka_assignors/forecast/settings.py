"""Settings of the load model: step, horizon, delay, gap, reset and time zone."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from kafka_assignors.validators import is_number, one_of, seconds, wrong

SECOND = 1_000_000
"""A second in microseconds.  All times of this package are whole microseconds since 1970 (UTC)."""

QUARTER = 900 * SECOND
"""A quarter of an hour in microseconds, the resolution of the season."""

Reset = Literal["earliest", "latest"]
_SHORTEST = 600.0  # s; smallest default of max_gap
_DAY = 86_400  # s
_LAST_S = 253_402_128_000  # 9999-12-30: Python has no local times after 9999
MOST_STEPS_AHEAD = 10_000  # maximum steps of a horizon


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """Settings of the load model.

    Args:
        step_s: length of a step, seconds.  It must divide a quarter of an hour.
        horizon_s: length of the forecast, seconds.  It must be a whole number of steps.
        delay_s: a sample may be this many seconds behind the newest one of its partition.
        max_gap_s: samples further apart are not interpolated, seconds.  None: ten minutes or three steps,
            whichever is longer.
        reset: ``auto_offset_reset`` of the group's consumers, which a broker does not know.
        zone: time zone of the days and weeks of the season, a name of the IANA database.

    ``step``, ``horizon``, ``delay`` and ``max_gap`` are the same settings in microseconds.

    Raises:
        OptionError: a value is out of range, or the values do not fit together.
    """

    step_s: float = 60.0
    horizon_s: float = 3600.0
    # The sampler reads every 10 s by default.  With a multiple of that, jitter would decide whether a step
    # waits for another batch.
    delay_s: float = 105.0
    max_gap_s: float | None = None
    reset: Reset = "earliest"
    zone: str = "UTC"
    step: int = field(init=False, repr=False)
    horizon: int = field(init=False, repr=False)
    delay: int = field(init=False, repr=False)
    max_gap: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_number(self.step_s, 0.001, 900) or QUARTER % _microseconds(self.step_s):
            raise wrong("step_s", "seconds from 0.001 to 900 that divide a quarter of an hour", self.step_s)
        is_in_range = is_number(self.horizon_s, self.step_s, MOST_STEPS_AHEAD * self.step_s)
        if not is_in_range or _microseconds(self.horizon_s) % _microseconds(self.step_s):
            steps = f"1 to {MOST_STEPS_AHEAD:,} whole steps of {self.step_s:g} s"
            raise wrong("horizon_s", steps, self.horizon_s)
        seconds("delay_s", self.delay_s, 0, _DAY)
        if self.max_gap_s is not None:
            seconds("max_gap_s", self.max_gap_s, self.step_s, _DAY)
        longest = max(_SHORTEST, 3 * self.step_s) if self.max_gap_s is None else self.max_gap_s
        for name, value in (
            ("step", self.step_s), ("horizon", self.horizon_s), ("delay", self.delay_s), ("max_gap", longest),
        ):  # fmt: skip
            object.__setattr__(self, name, _microseconds(value))
        one_of("reset", self.reset, get_args(Reset))
        try:
            local_quarter(0, self.zone)
        except (OSError, ValueError, TypeError, KeyError):  # KeyError: there is no such zone
            raise wrong("zone", "a time zone, like Europe/Berlin", self.zone) from None


def _microseconds(value: float) -> int:
    return round(value * SECOND)


@lru_cache(maxsize=4096)
def local_quarter(quarter: int, zone: str) -> int:
    """Convert the number of a quarter of an hour since 1970 from UTC to the local time of a zone."""
    if zone == "UTC":
        return quarter
    seconds = min(quarter * QUARTER // SECOND, _LAST_S)  # a damaged commit may be of the year 9999
    offset = datetime.fromtimestamp(seconds, ZoneInfo(zone)).utcoffset()
    return quarter + (0 if offset is None else offset // timedelta(minutes=15))
