"""Many partitions at once: samples in, rows of the load table out, equal to those of ``forecast.fold``.

Steady partitions are folded together, in numpy, unless they are few.  All others go through ``Partition`` one
by one: those with commits from the offsets topic, a reset or a gap.  Both ways give the same results, bit for
bit, so a partition may change between them at any time.  A state that the arrays of ``table`` can hold is
*plain*; other states are *odd*.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kafka_assignors.forecast.bucket import steps
from kafka_assignors.forecast.bucket.model import Models
from kafka_assignors.forecast.bucket.rows import LoadRows
from kafka_assignors.forecast.bucket.steps import Samples, joined
from kafka_assignors.forecast.bucket.table import Bools, Ints, Table, last_samples
from kafka_assignors.forecast.fold import AHEAD, Partition, SampleCounts
from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN, Sample
from kafka_assignors.forecast.settings import LoadSettings

Key = tuple[str, str, int]
"""Group, topic and partition."""

_FEW = 16
"""For one step, numpy takes about as long as ``Partition`` takes for this many partitions."""
_AT_ONCE = 200_000
"""Maximum number of samples folded at once, or eight per partition if that is more; one takes 700 bytes."""
_NONE = Samples(*(np.empty(0, np.int64),) * 5)


class Bucket:
    """The load of many partitions.

    Attributes:
        keys: the partitions, by row.
        table: the plain states, and the last sample of each partition.
        odd: row -> state that is not plain.
        waiting: samples that wait for earlier ones, in the order of rows and times.
        changed: ``names`` if ``keys`` changed, ``odd`` if a state that was odd may have changed.
    """

    __slots__ = ("_models", "_row_of", "changed", "keys", "odd", "settings", "table", "waiting")

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.keys: list[Key] = []
        self.table = Table(settings)
        self.odd: dict[int, Partition] = {}
        self.waiting = _NONE
        self.changed = {"names"}
        self._row_of: dict[Key, int] = {}
        self._models = Models(self.table)

    def rows_of(self, keys: Iterable[Key]) -> Ints:
        """Return the rows of partitions; new partitions are added."""
        row_of = self._row_of
        rows = [row_of.setdefault(key, len(row_of)) for key in keys]
        if len(row_of) > self.table.size:
            self.keys = list(row_of)
            self.table.grow(len(row_of))
            self.changed.add("names")
            self._models.clear()
        return np.array(rows, np.int64)

    def take(self, samples: Samples, now: int | None = None) -> tuple[LoadRows, SampleCounts]:
        """Take samples in any order, and return the rows of the load table that they complete.

        Args:
            samples: the samples; impossible offsets count as unknown.
            now: current time, microseconds since 1970.  None: unknown, so no sample is ahead of it.
        """
        total, most = len(samples.row), max(_AT_ONCE, 8 * self.table.size)
        if total > most:  # in the order of times, so that no slice makes samples of the next one late
            order = np.lexsort(samples[:0:-1])
            slices = (samples.where(order[first : first + most]) for first in range(0, total, most))
            rows, counts = zip(*(self.take(part, now) for part in slices), strict=True)
            return LoadRows.joined(rows), SampleCounts(*map(sum, zip(*counts, strict=True)))
        row, time, begin, end, committed = samples
        begin, end = (np.where(offset < 0, UNKNOWN, offset) for offset in (begin, end))
        samples = Samples(row, time, begin, end, np.where(committed < NO_COMMIT, UNKNOWN, committed))
        if now is not None:
            samples = samples.where(time <= now + max(AHEAD, self.settings.delay))
        ahead = total - len(samples.row)
        samples = _ordered(joined((self.waiting, samples)))
        duplicate, late = self._duplicate_or_late(samples)
        samples = samples.where(~(duplicate | late))
        np.maximum.at(self.table.newest, samples.row, samples.time)
        waits = samples.time > self.table.newest[samples.row] - self.settings.delay
        self.waiting = samples.where(waits)
        counts = SampleCounts(total, int(late.sum()), int(duplicate.sum()), ahead)
        return self._fold(samples.where(~waits)), counts

    def flush(self, chosen: Bools | None = None) -> LoadRows:
        """Take the waiting samples at the end of the input, of the chosen partitions or of all."""
        waiting = self.waiting
        flushed = np.full(len(waiting.row), fill_value=True) if chosen is None else chosen[waiting.row]
        self.waiting = waiting.where(~flushed)
        return self._fold(waiting.where(flushed))

    def forget(self, chosen: Bools) -> None:
        """Drop partitions, after `flush`."""
        kept = ~chosen
        row = np.cumsum(kept) - 1
        self.table.keep(kept)
        self.keys = [key for key, keep in zip(self.keys, kept.tolist(), strict=True) if keep]
        self._row_of = {key: number for number, key in enumerate(self.keys)}
        self.odd = {int(row[old]): partition for old, partition in self.odd.items() if kept[old]}
        waiting = self.waiting.where(kept[self.waiting.row])
        self.waiting = waiting._replace(row=row[waiting.row])
        self.changed |= {"names", "odd"}
        self._models.clear()

    def odd_state(self, row: int) -> Partition:
        """Return an odd state without its waiting samples, which are in ``waiting``."""
        partition = self.odd[row]
        partition.newest, partition.waiting = int(self.table.newest[row]), []
        return partition

    def _duplicate_or_late(self, samples: Samples) -> tuple[Bools, Bools]:
        """Return which samples are duplicates, and which are before the last one of their partition."""
        table, row = self.table, samples.row
        last = last_samples(table, row)
        same, late = np.ones((2, len(row)), np.bool_)
        late[:] = False
        for column, known in zip(samples[1:], last, strict=True):
            late |= same & (column < known)
            same &= column == known
        twice = np.ones(len(row), np.bool_)
        twice[:1] = False
        for column in samples:
            twice[1:] &= column[1:] == column[:-1]
        return same | (twice & ~late), late

    def _fold(self, samples: Samples) -> LoadRows:
        """Fold samples that are in order."""
        if not len(samples.row):
            return LoadRows.of(())
        table = self.table
        odd = np.zeros(table.size, np.bool_)
        odd[list(self.odd)] = True
        odd[samples.row[~steps.steady(table, samples)]] = True
        together = ~odd[samples.row]
        if self._are_few(samples.where(together)):
            together[:] = False
        rows = [self._fold_together(samples.where(together))]
        if not together.all():
            rows.append(self._fold_each(samples.where(~together)))
        return LoadRows.joined(rows)

    def _are_few(self, samples: Samples) -> bool:
        """Return whether the steps have so few partitions that folding them one by one is faster."""
        done = samples.time // self.settings.step
        if not len(done):
            return False
        known = self.table.time[samples.row]
        # Time of the partition's last sample.  A new partition has none, and counts from its first sample.
        starts = np.where(np.diff(samples.row, prepend=-1) != 0, np.arange(len(done)), 0)
        since = np.where(known == UNKNOWN, samples.time[np.maximum.accumulate(starts)], known)
        most_steps = int((done - since // self.settings.step).max())
        return most_steps > 4 and bool(np.count_nonzero(np.diff(samples.row)) < _FEW - 1)

    def _fold_together(self, samples: Samples) -> LoadRows:
        """Fold steady samples in numpy, one step of all partitions after the other."""
        marks = steps.take(self.table, samples)
        order = np.argsort(marks.at, kind="stable")
        ends = marks.at[order]
        several = []
        for chosen in np.split(order, np.flatnonzero(np.diff(ends)) + 1) if len(order) else ():
            mark = marks.where(chosen)
            age = steps.time_lags(self.table, mark)
            mark, age = mark.where(~mark.is_start), age[~mark.is_start]
            if not len(mark.row):
                continue
            whole = slice(None) if len(mark.row) == self.table.size else mark.row
            outlooks = self._models.learn(whole, int(mark.at[0]), mark.arrived)
            several.append(
                LoadRows(mark.row, mark.at, mark.arrived, mark.served, mark.lag, age, mark.quality, *outlooks)
            )
        return LoadRows.joined(several)

    def _fold_each(self, samples: Samples) -> LoadRows:
        """Fold samples by ``Partition``, one partition after the other."""
        table, rows = self.table, []
        starts = np.flatnonzero(np.append(True, np.diff(samples.row)))
        values = list(zip(*(column.tolist() for column in samples[1:]), strict=True))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(values)], strict=True):
            row = int(samples.row[start])
            if row in self.odd:
                self.changed.add("odd")
            partition = self.odd.pop(row) if row in self.odd else table.restore(row)
            rows += [(row, result) for result in partition.fold([Sample(*v) for v in values[start:stop]])]
            table.time[row], table.begin[row], table.end[row], table.committed[row] = partition.last
            if not table.absorb(row, partition):
                table.clear(row)
                self.odd[row] = partition
        self._models.clear()
        return LoadRows.of(rows)


def _ordered(samples: Samples) -> Samples:
    """Order samples by partition, then as ``Sample``."""
    order = np.lexsort((samples.time, samples.row))
    ordered = samples.where(order)
    ties = (np.diff(ordered.row) == 0) & (np.diff(ordered.time) == 0)
    return samples.where(np.lexsort(samples[::-1])) if ties.any() else ordered
