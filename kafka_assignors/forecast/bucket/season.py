"""The season of many partitions at once; results equal those of ``forecast.season`` bit for bit.

``forecast.season`` explains the model.  Quarters of an hour are numbered since 1970 (UTC).
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.forecast.bucket.table import Bools, Floats, Ints, RowIndex, Table
from kafka_assignors.forecast.season import (
    DAY_DOUBT,
    LEAST_SEEN,
    MOST_DAYS,
    MOST_WEEKS,
    QUARTER_S,
    QUARTERS,
    UNKNOWN_TOTAL,
    USUAL_WEEKS,
    WEEK_DOUBT,
    WEEK_QUARTERS,
    WHOLE,
    added,
    hour_of_week,
    overlaps,
    quarter_of_week,
    similar_days,
)
from kafka_assignors.forecast.settings import QUARTER, SECOND, local_quarter

_MOST_CACHED = 4 * QUARTERS
"""The cache is cleared when it has values of more quarters of an hour than this."""


class Seasons:
    """Learns seasons, and caches additions and earlier rates until a season changes."""

    __slots__ = ("_added", "_between", "_past", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._added: dict[int, Floats] = {}
        self._past: dict[int, Floats] = {}
        self._between: dict[tuple[int, int], tuple[Floats, Floats, Floats]] = {}

    def clear(self) -> None:
        """Drop the cached values, because a season or the partitions have changed."""
        self._added.clear()
        self._past.clear()
        self._between.clear()

    def addition(self, quarter: int, rows: RowIndex) -> Floats:
        """Return the addition to each level in a quarter of an hour, records/s."""
        addition = self._added.get(quarter)
        if addition is None:
            # Usually `learn` clears the cache in time, but steps with unknown arrivals skip it.
            if len(self._added) > _MOST_CACHED:
                self.clear()
            table, local = self._table, self._local(quarter)
            index = local % QUARTERS
            seen = table.day_seen[index].astype(np.float64)
            above = (table.day[index] - table.season_mean) * seen / (seen + DAY_DOUBT)
            every = np.arange(table.size)
            hour = hour_of_week(local)
            week = _week_addition(table, np.full(table.size, hour), every)
            addition = self._added[quarter] = np.where(seen > 0, above + week, 0.0)
        return addition[rows]

    def past_rates(self, quarter: int, rows: RowIndex) -> Floats:
        """Return the `PastRates` of a quarter of an hour, of shape (4, partitions); NaN: unknown."""
        past = self._past.get(quarter)
        if past is None:
            table, index = self._table, quarter_of_week(self._local(quarter))
            yesterday = (index - QUARTERS) % WEEK_QUARTERS
            is_known = table.usual_seen[[yesterday, index, index, index]] > 0
            rates = [table.latest[yesterday], table.latest[index], self._typical(index), table.usual[index]]
            past = np.where(is_known, np.array(rates, np.float64), np.nan)
            self._past[quarter] = past
        return past[:, rows]

    def _typical(self, index: int) -> Floats:
        table, (weekday, quarter) = self._table, divmod(index, QUARTERS)
        days = list(similar_days(weekday))
        is_known = table.totals[days] != UNKNOWN_TOTAL
        total = added(np.where(is_known, table.totals[days], 0.0))
        usual = table.usual[[day * QUARTERS + quarter for day in days]].astype(np.float64)
        rate = added(np.where(is_known, usual, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            typical = np.where(total > 0, table.totals[weekday] * rate / total, 0.0)
        return np.where(table.totals[weekday] == UNKNOWN_TOTAL, table.usual[index], typical)

    def weighted_seconds(self, start: int, stop: int, rows: RowIndex) -> Floats | float:
        """Return ``Season.weighted_seconds`` of the part from ``start`` to ``stop``, microseconds."""
        if stop - start == QUARTER:
            return QUARTER_S
        table, slots = self._table, self._table.slots
        first = self._local(start // QUARTER) % QUARTERS * slots
        shares = table.shares[first : first + slots]
        whole, parts = overlaps(start, stop, slots)
        share = shares[whole, rows].sum(axis=0, dtype=np.int64).astype(np.float64)
        for slot, part in parts:
            share += shares[slot, rows] * part
        weight: Floats = share * (QUARTER_S / WHOLE)
        return weight

    def between(self, first: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Return sums over the quarters from ``first`` to before ``stop``, and the least addition.

        Returns:
            The records that the season adds; the records by each past rate; the least addition (records/s).
        """
        sums = self._between.get((first, stop))
        if sums is None:
            every = slice(None)
            adds = [self.addition(quarter, every) for quarter in range(first, stop)]
            past = [self.past_rates(quarter, every) * QUARTER_S for quarter in range(first, stop)]
            sums = (added([add * QUARTER_S for add in adds]), added(past), np.minimum.reduce(adds))
            self._between[first, stop] = sums
        return sums

    def learn(self, rows: RowIndex, at: int, arrived: Ints) -> None:
        """Add the records of a step to its quarter, and let the means learn a quarter that is over."""
        table, quarter = self._table, self._local((at - 1) // QUARTER)
        is_over = table.quarter[rows] != quarter
        if is_over.any():
            self._end_quarters(np.arange(table.size)[rows][is_over], quarter)
            self.clear()
        table.quarter_sum[rows] += arrived / (table.settings.step / SECOND)
        table.quarter_steps[rows] += 1
        table.counts[(at - 1) % QUARTER * table.slots // QUARTER, rows] += arrived

    def _local(self, quarter: int) -> int:
        return local_quarter(quarter, self._table.settings.zone)

    def _end_quarters(self, rows: Ints, quarter: int) -> None:
        table = self._table
        is_known = table.quarter_steps[rows] * table.settings.step >= LEAST_SEEN * QUARTER
        self._learn_quarters(rows[is_known])
        hour_ended = rows[table.quarter[rows] // 4 != quarter // 4]
        known = hour_ended[table.quarters[hour_ended] > 0]
        hour = hour_of_week(table.quarter[known])
        if len(known):
            table.changed.add("season")
        mean = table.above[known] / table.quarters[known]
        _add_to_mean(table.week, table.week_seen, (hour, known), mean, MOST_WEEKS)
        table.above[hour_ended] = 0.0
        table.quarters[hour_ended] = 0
        self._end_days(rows[table.quarter[rows] // QUARTERS != quarter // QUARTERS])
        table.quarter[rows] = quarter
        table.quarter_sum[rows] = 0.0
        table.quarter_steps[rows] = 0
        table.counts[:, rows] = 0

    def _end_days(self, rows: Ints) -> None:
        table = self._table
        weekdays = quarter_of_week(table.quarter[rows]) // QUARTERS
        for weekday in np.unique(weekdays).tolist():
            ended = rows[weekdays == weekday]
            quarters = slice(weekday * QUARTERS, (weekday + 1) * QUARTERS)
            whole = ended[table.usual_seen[quarters, ended].all(axis=0)]
            if len(whole):
                table.changed.add("season")
            table.totals[weekday, whole] = added(table.usual[quarters, whole].astype(np.float64))

    def _learn_quarters(self, rows: Ints) -> None:
        table = self._table
        if not len(rows):
            return
        table.changed.add("season")
        rate = table.quarter_sum[rows] / table.quarter_steps[rows]
        quarter = table.quarter[rows]
        index = quarter % QUARTERS
        self._learn_shares(rows, index, rate)
        has_mean = table.day_seen[index, rows] > 0
        table.above[rows[has_mean]] += rate[has_mean] - table.day[index[has_mean], rows[has_mean]]
        table.quarters[rows[has_mean]] += 1
        value = rate - _week_addition(table, hour_of_week(quarter), rows)
        _add_to_mean(table.day, table.day_seen, (index, rows), value, MOST_DAYS)
        week_index = quarter_of_week(quarter)
        _add_to_mean(table.usual, table.usual_seen, (week_index, rows), rate, USUAL_WEEKS)
        table.latest[week_index, rows] = rate
        total, count = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        for day, seen in zip(table.day, table.day_seen, strict=True):  # in the order of ``Season``
            is_known: Bools = seen[rows] > 0
            total += np.where(is_known, day[rows], 0.0)
            count += is_known
        table.season_mean[rows] = total / count

    def _learn_shares(self, rows: Ints, index: Ints, rate: Floats) -> None:
        table = self._table
        is_known = (table.quarter_steps[rows] * table.settings.step == QUARTER) & (rate > 0)
        rows, index, rate = rows[is_known], index[is_known], rate[is_known]
        seen = np.minimum(table.day_seen[index, rows], MOST_DAYS - 1)
        gain = rate / (rate + np.maximum(table.day[index, rows], 0.0) * seen)
        counts = table.counts[:, rows]
        total = counts.sum(axis=0)
        for slot, count in enumerate(counts):
            entries = index * table.slots + slot, rows
            share = table.shares[entries].astype(np.float64)
            table.shares[entries] = share + gain * (WHOLE * (count / total) - share) + 0.5


def _week_addition(table: Table, hour: Ints, rows: Ints) -> Floats:
    seen = table.week_seen[hour, rows].astype(np.float64)
    addition: Floats = table.week[hour, rows] * seen / (seen + WEEK_DOUBT)
    return addition


def _add_to_mean(means: Floats, seen: Ints, entries: tuple[Ints, Ints], value: Floats, most: int) -> None:
    """Add a value to some entries of ``means``, with a weight of at least 1/``most``."""
    count = np.minimum(seen[entries].astype(np.int64) + 1, most)
    seen[entries] = count
    means[entries] += (value - means[entries]) / count
