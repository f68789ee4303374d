"""Daily and weekly season, learnt by the quarter of an hour.  Pure.

A day has 96 quarters of an hour.  A week has 168 hours and begins on Monday.  Both follow the clocks of one
time zone.  Each quarter of the day has a mean rate.  Each hour of the week has a mean difference: its rates
minus the mean rates of the same quarters of the day.  After some weeks, newer rates weigh more.  Few rates
prove little, so means are *shrunk*.  ``seen`` is the number of days or weeks in a mean, at most
``MOST_DAYS`` or ``MOST_WEEKS``::

    day(q)  = (mean of quarter q - mean of all quarters) * seen / (seen + DAY_DOUBT)
    week(h) = (mean difference of hour h)                * seen / (seen + WEEK_DOUBT)
    season  = day + week

So the season is 0 on the first day.  On the second day it is 80 % of the differences seen on the first.  A
day of the week has a weekly part from its second occurrence on.  The very first day does not count as an
occurrence, because there is no daily mean yet.

Each of the 672 quarters of an hour of the week has its *latest* rate, and a *usual* one: the mean of the last
weeks.  Both are in single precision, which halves their part of the state.  At the end of a day its usual
rates are added up, if all are known; doing so at each quarter would cost a hundred times as much.  Days from
Monday to Friday are *similar*, and so are Saturday and Sunday.  A *typical* rate has the level of its
weekday, and the shape of the similar days whose sums are known::

    typical(q) = sum of the weekday * (sum of the usual rates at q on similar days) / (sum of their sums)

Until the sum of the weekday is known, the typical rate is the usual one.

A quarter of an hour is divided into up to `MOST_SLOTS` equal *slots* of whole steps.  Each slot of the day
has its *share* of the records of its quarter: a mean of about 14 days, weighted by their records.  So the
model knows the minutes in which a short job writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kafka_assignors.forecast.forecasters import Real
from kafka_assignors.forecast.settings import QUARTER, SECOND, local_quarter

_Quarter = TypeVar("_Quarter", int, npt.NDArray[np.int64])

QUARTERS = 96
WEEK_HOURS = 168
WEEK_QUARTERS = 672
DAY_DOUBT = 0.25  # days
WEEK_DOUBT = 0.5  # weeks
MOST_DAYS = 14  # the mean of a quarter of the day covers about this many days
MOST_WEEKS = 6  # the mean of an hour of the week covers about this many weeks
USUAL_WEEKS = 4  # a usual rate is a mean over about this many weeks
_MONDAY = 72  # hours from Monday to the begin of 1970, a Thursday
LEAST_SEEN = 0.5  # a quarter is learnt if at least this part of it is known
MOST_SLOTS = 15
WHOLE = 65_520  # the share of a whole quarter; every possible number of slots divides it
QUARTER_S = QUARTER / SECOND
UNKNOWN_TOTAL = -1.0  # sum of a day with a quarter that is not learnt; NaN would not equal itself


class PastRates(NamedTuple):
    """Earlier rates of a quarter of an hour, records/s; NaN: unknown."""

    day_ago: float
    week_ago: float
    typical: float
    usual: float


class Season:
    """Rates by quarter of the day, hour of the week and quarter of the week, in records/s."""

    __slots__ = (
        "above", "changes", "counts", "day", "day_seen", "latest", "mean", "quarter", "quarters", "shares",
        "slots", "steps", "sum", "totals", "usual", "usual_seen", "week", "week_seen", "zone",
    )  # fmt: skip

    def __init__(self, zone: str = "UTC", slots: int = 1) -> None:
        self.zone = zone
        self.slots = slots  # number of slots of a quarter
        self.shares = [WHOLE // slots] * (QUARTERS * slots)  # of each slot of the day, in its quarter
        self.counts = [0] * slots  # records in the slots of the current quarter
        self.day = [0.0] * QUARTERS  # mean rates
        self.day_seen = [0] * QUARTERS  # number of rates in each mean, up to `MOST_DAYS`
        self.week = [0.0] * WEEK_HOURS  # mean differences
        self.week_seen = [0] * WEEK_HOURS
        self.latest = [0.0] * WEEK_QUARTERS
        self.usual = [0.0] * WEEK_QUARTERS
        self.usual_seen = [0] * WEEK_QUARTERS
        self.totals = [UNKNOWN_TOTAL] * 7  # sum of each weekday's usual rates, Monday first
        self.mean = 0.0  # of the known quarters of the day
        self.quarter = -1  # number of the current quarter since 1970, by local clocks
        self.sum = 0.0  # of the rates of the current quarter's steps
        self.steps = 0  # of the current quarter
        self.above = 0.0  # sum of rate minus daily mean, over the quarters of this hour
        self.quarters = 0  # number of quarters in `above`
        self.changes = 0  # version of the season, for caches

    def addition(self, quarter: int) -> float:
        """Return the addition to the level in a quarter of an hour (number since 1970), records/s."""
        quarter = local_quarter(quarter, self.zone)
        index = quarter % QUARTERS
        seen = self.day_seen[index]
        if not seen:
            return 0.0
        above = (self.day[index] - self.mean) * seen / (seen + DAY_DOUBT)
        return above + self._week_addition(hour_of_week(quarter))

    def usual_rate(self, quarter: int) -> float:
        """Return the usual rate of a quarter of an hour (number since 1970), records/s; NaN: unknown."""
        index = quarter_of_week(local_quarter(quarter, self.zone))
        return self.usual[index] if self.usual_seen[index] else math.nan

    def past_rates(self, quarter: int) -> PastRates:
        """Return the earlier rates of a quarter of an hour.  After a gap the latest may be weeks old."""
        index = quarter_of_week(local_quarter(quarter, self.zone))
        yesterday = (index - QUARTERS) % WEEK_QUARTERS
        day_ago = self.latest[yesterday] if self.usual_seen[yesterday] else math.nan
        if not self.usual_seen[index]:
            return PastRates(day_ago, math.nan, math.nan, math.nan)
        return PastRates(day_ago, self.latest[index], self._typical(index), self.usual[index])

    def _typical(self, index: int) -> float:
        """Return the typical rate of a quarter of the week whose usual rate is known."""
        weekday, quarter = divmod(index, QUARTERS)
        if self.totals[weekday] == UNKNOWN_TOTAL:
            return self.usual[index]
        known = [day for day in similar_days(weekday) if self.totals[day] != UNKNOWN_TOTAL]
        total = added(self.totals[day] for day in known)
        rate = added(self.usual[day * QUARTERS + quarter] for day in known)
        return self.totals[weekday] * rate / total if total > 0 else 0.0

    def weighted_seconds(self, start: int, stop: int) -> float:
        """Return the seconds that, times a quarter's mean rate, give the records of a part of the quarter.

        Args:
            start: begin of the part, microseconds.
            stop: its end, in the same quarter.
        """
        if stop - start == QUARTER:
            return QUARTER_S
        first = local_quarter(start // QUARTER, self.zone) % QUARTERS * self.slots
        shares = self.shares[first : first + self.slots]
        whole, parts = overlaps(start, stop, self.slots)
        share = float(sum(shares[whole]))
        for slot, part in parts:
            share += shares[slot] * part
        return share * (QUARTER_S / WHOLE)

    def learn(self, at: int, arrived: int, step: int) -> None:
        """Add the records of a step to its quarter.  The means learn a quarter once it is over.

        Args:
            at: end of the step, microseconds.
            arrived: records.
            step: its length, microseconds.
        """
        quarter = local_quarter((at - 1) // QUARTER, self.zone)
        if quarter != self.quarter:
            if self.steps * step >= LEAST_SEEN * QUARTER:
                self._end_quarter(whole=self.steps * step == QUARTER)
            if quarter // 4 != self.quarter // 4:
                self._end_hour()
            if quarter // QUARTERS != self.quarter // QUARTERS:
                self._end_day()
            self.changes += 1
            self.quarter, self.sum, self.steps = quarter, 0.0, 0
            self.counts = [0] * self.slots
        self.sum += arrived / (step / SECOND)
        self.counts[(at - 1) % QUARTER * self.slots // QUARTER] += arrived
        self.steps += 1

    def _week_addition(self, hour: int) -> float:
        seen = self.week_seen[hour]
        return self.week[hour] * seen / (seen + WEEK_DOUBT)

    def _end_quarter(self, *, whole: bool) -> None:
        rate = self.sum / self.steps
        index = self.quarter % QUARTERS
        if whole and rate > 0:
            self._learn_shares(index, rate)
        if self.day_seen[index]:  # on the first day there is no mean to compare to
            self.above += rate - self.day[index]
            self.quarters += 1
        # The daily mean excludes the weekly part.
        _add_to_mean(
            self.day, self.day_seen, index, rate - self._week_addition(hour_of_week(self.quarter)), MOST_DAYS
        )
        index = quarter_of_week(self.quarter)
        _add_to_mean(self.usual, self.usual_seen, index, rate, USUAL_WEEKS)
        self.usual[index], self.latest[index] = float(np.float32(self.usual[index])), float(np.float32(rate))
        means = [mean for mean, seen in zip(self.day, self.day_seen, strict=True) if seen]
        self.mean = added(means) / len(means)

    def _learn_shares(self, index: int, rate: float) -> None:
        gain = rate / (rate + max(self.day[index], 0.0) * min(self.day_seen[index], MOST_DAYS - 1))
        total, first = sum(self.counts), index * self.slots
        for slot, count in enumerate(self.counts, first):
            share = self.shares[slot]
            self.shares[slot] = int(share + gain * (WHOLE * (count / total) - share) + 0.5)

    def _end_hour(self) -> None:
        if self.quarters:
            _add_to_mean(
                self.week, self.week_seen, hour_of_week(self.quarter), self.above / self.quarters, MOST_WEEKS
            )
        self.above, self.quarters = 0.0, 0

    def _end_day(self) -> None:
        weekday = quarter_of_week(self.quarter) // QUARTERS
        quarters = slice(weekday * QUARTERS, (weekday + 1) * QUARTERS)
        if all(self.usual_seen[quarters]):
            self.totals[weekday] = added(self.usual[quarters])


def similar_days(weekday: int) -> range:
    """Return the weekdays that are similar to a weekday, itself included; 0 is Monday."""
    return range(5) if weekday < 5 else range(5, 7)


def added(values: Iterable[Real]) -> Real:
    """Add values from the first to the last.  ``sum`` rounds differently since Python 3.12."""
    total: Any = 0.0
    for value in values:
        total = total + value  # not +=, which is slower for arrays of one partition
    result: Real = total
    return result


def stretches(start: int, stop: int) -> list[tuple[int, int, int]]:
    """Split a period by quarters of an hour: the number since 1970, begin and end of each part."""
    quarter = start // QUARTER
    end = (quarter + 1) * QUARTER
    parts = []
    while end < stop:
        parts.append((quarter, start, end))
        quarter, start, end = quarter + 1, end, end + QUARTER
    parts.append((quarter, start, stop))
    return parts


def _add_to_mean(means: list[float], seen: list[int], index: int, value: float, most: int) -> None:
    """Add a value to one of ``means``, with a weight of at least 1/``most``."""
    seen[index] = min(seen[index] + 1, most)
    means[index] += (value - means[index]) / seen[index]


def slots_of(step: int) -> int:
    """Return the number of slots of a quarter of an hour; ``step`` is the length of a step, microseconds."""
    steps = QUARTER // step
    return max(slots for slots in range(1, MOST_SLOTS + 1) if steps % slots == 0)


def overlaps(start: int, stop: int, slots: int) -> tuple[slice, list[tuple[int, float]]]:
    """Return the slots that a part of a quarter covers whole, and the covered fractions of other slots.

    Args:
        start: begin of the part, microseconds.
        stop: its end, in the same quarter.
        slots: number of slots.
    """
    length = QUARTER // slots
    begin, end = start % QUARTER, (stop - 1) % QUARTER + 1
    first, last = -(-begin // length), end // length
    if first > last:
        return slice(0, 0), [(last, (end - begin) / length)]
    parts = []
    if begin % length:
        parts.append((first - 1, (first * length - begin) / length))
    if end % length:
        parts.append((last, (end % length) / length))
    return slice(first, last), parts


def hour_of_week(quarter: _Quarter) -> _Quarter:
    """Return the hour of the week of a quarter of an hour (since 1970), or of each in an array."""
    return (quarter // 4 + _MONDAY) % WEEK_HOURS


def quarter_of_week(quarter: _Quarter) -> _Quarter:
    """Number a quarter of an hour (since 1970), or each in an array, within its week."""
    return (quarter + 4 * _MONDAY) % WEEK_QUARTERS
