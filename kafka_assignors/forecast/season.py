"""What a time of the day and an hour of the week add, learnt quarter of an hour by quarter.  Pure.

A day has 96 quarters of an hour, a week 168 hours, in UTC, Monday first.  For each quarter there is a mean
rate, for each hour of the week the mean of what it was above its quarters.  Later ones count more once there
were many.  Few sightings prove little, so means are *shrunk*, as if a plain one had been seen, too::

    day(q)  = (mean of quarter q - mean of all quarters) * seen / (seen + DAY_DOUBT)
    week(h) = (mean of hour h above its quarters)        * seen / (seen + WEEK_DOUBT)
    season  = day + week

So before anything was seen it is 0, on the second day it is a good part of what it was the day before, and a
day of the week is known for one from its second time on.
"""

from __future__ import annotations

from kafka_assignors.forecast.settings import QUARTER

__all__ = ["QUARTERS", "WEEK_HOURS", "Season"]

QUARTERS = 96
WEEK_HOURS = 168
DAY_DOUBT = 0.25  # days
WEEK_DOUBT = 0.5  # weeks
_DAYS = 14  # that count, about
_WEEKS = 6  # that count, about
_MONDAY = 72  # 1970 began on a Thursday, at its hour 0
_LEAST_SEEN = 0.5  # of a quarter; of one that so little is known of, nothing is learnt


class Season:
    """Mean rates by quarter of the day and hour of the week, records/s."""

    __slots__ = (
        "above", "changes", "day", "day_seen", "mean", "quarter", "quarters", "steps", "sum", "week",
        "week_seen",
    )  # fmt: skip

    def __init__(self) -> None:
        self.day = [0.0] * QUARTERS
        self.day_seen = [0] * QUARTERS
        self.week = [0.0] * WEEK_HOURS
        self.week_seen = [0] * WEEK_HOURS
        self.mean = 0.0  # of the quarters of the day that were seen
        self.quarter = -1  # that is going on, since 1970
        self.sum = 0.0  # of the rates of its steps
        self.steps = 0
        self.above = 0.0  # what the quarters of the hour that is going on were above those of the day
        self.quarters = 0
        self.changes = 0  # since this object was made: whether what was asked before is still so

    def adds(self, quarter: int) -> float:
        """What a quarter of an hour (since 1970) adds to the level, records/s."""
        place = quarter % QUARTERS
        seen = self.day_seen[place]
        if not seen:
            return 0.0
        above = (self.day[place] - self.mean) * seen / (seen + DAY_DOUBT)
        return above + self._week_adds(_hour(quarter))

    def learn(self, at: int, rate: float, step: int) -> None:
        """Take the rate of a step into the quarter it is in; a quarter that is over counts from then on.

        Args:
            at: end of the step, microseconds.
            rate: records/s.
            step: its length, microseconds.
        """
        quarter = (at - 1) // QUARTER
        if quarter != self.quarter:
            if self.steps * step >= _LEAST_SEEN * QUARTER:
                self._end_quarter()
            if quarter // 4 != self.quarter // 4:
                self._end_hour()
            self.changes += 1
            self.quarter, self.sum, self.steps = quarter, 0.0, 0
        self.sum += rate
        self.steps += 1

    def _week_adds(self, hour: int) -> float:
        seen = self.week_seen[hour]
        return self.week[hour] * seen / (seen + WEEK_DOUBT)

    def _end_quarter(self) -> None:
        rate = self.sum / self.steps
        place = self.quarter % QUARTERS
        if self.day_seen[place]:  # the first day is no different from itself
            self.above += rate - self.day[place]
            self.quarters += 1
        # Of the day is what is not of the week.
        _into(self.day, self.day_seen, place, rate - self._week_adds(_hour(self.quarter)), _DAYS)
        means = [mean for mean, times in zip(self.day, self.day_seen, strict=True) if times]
        self.mean = sum(means) / len(means)

    def _end_hour(self) -> None:
        if self.quarters:
            _into(self.week, self.week_seen, _hour(self.quarter), self.above / self.quarters, _WEEKS)
        self.above, self.quarters = 0.0, 0


def _into(means: list[float], seen: list[int], place: int, value: float, most: int) -> None:
    """Take a value into a mean; once there were many it counts one in so many."""
    seen[place] = min(seen[place] + 1, most)
    means[place] += (value - means[place]) / seen[place]


def _hour(quarter: int) -> int:
    return (quarter // 4 + _MONDAY) % WEEK_HOURS
