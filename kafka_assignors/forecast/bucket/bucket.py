"""Many partitions: samples in, rows of the load table out.  No I/O.

Samples arrive in any order, some of them twice.  Each waits until the newest sample of its partition is
``delay`` ahead of it.  Then samples are taken in the order of their times.  So the rows do not depend on how
the samples were cut into batches, unless a sample arrives later than ``delay``.  Such a sample is still taken
if no later one was taken before.  Otherwise it is *late*: dropped and counted.

The time of the newest sample is the clock of its partition.  So delayed samples of one group do not make
those of other groups late, and a sample from the future ends the wait only for its own partition.  But if
samples from the future span more than ``delay``, the first of them are taken, and all correct ones are late
from then on.  So callers pass the current time if they know it: samples *ahead* of it are dropped and
counted.

Samples are first counted, which gives steps.  Samples of steady partitions are counted together, in numpy.
Samples of other partitions, such as those with commits from the offsets topic, a reset or a gap, are counted
one partition after the other.  Counters that the arrays of ``table`` can hold are *plain*; others are *odd*.
Then the models learn the steps: all partitions together, or one partition after the other if that is faster.
All ways give the same results, bit for bit, so a partition may change between them at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from kafka_assignors.forecast.bucket import steps
from kafka_assignors.forecast.bucket.model import Models, Outlooks
from kafka_assignors.forecast.bucket.partition import (
    read_counters,
    read_model,
    write_counters,
    write_model,
)
from kafka_assignors.forecast.bucket.rows import MISSING, DoneSteps, LoadRows
from kafka_assignors.forecast.bucket.steps import Samples, concatenated
from kafka_assignors.forecast.bucket.table import Bools, Floats, Ints, Table, last_samples
from kafka_assignors.forecast.samples import AHEAD, NO_COMMIT, UNKNOWN, Sample, SampleCounts
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import LoadStep, Steps

Key = tuple[str, str, int]
"""Group, topic and partition."""

_TOGETHER, _ALONE = 9, 18
"""Costs in units of about 60 µs, the cost of learning one step of one partition alone.

``_TOGETHER``: learning one step of any number of partitions in numpy.  ``_ALONE``: copying one model out of
the arrays and back.
"""
_AT_ONCE = 200_000
"""Maximum number of samples taken at once, or eight per partition if that is more.

A sample takes 700 bytes of memory meanwhile.
"""
_NONE = Samples(*(np.empty(0, np.int64),) * 5)


class Bucket:
    """The load of many partitions.

    Attributes:
        keys: the partitions, by row.
        table: models, plain counters, and the last sample of each partition.
        odd: row -> counters that are not plain.
        waiting: samples that wait for earlier ones, in the order of rows and times.
        changed: ``names`` if ``keys`` changed, ``odd`` if odd counters may have changed.
    """

    __slots__ = ("_models", "_row_of", "changed", "keys", "odd", "settings", "table", "waiting")

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.keys: list[Key] = []
        self.table = Table(settings)
        self.odd: dict[int, Steps] = {}
        self.waiting = _NONE
        self.changed = {"names"}
        self._row_of: dict[Key, int] = {}
        self._models = Models(self.table)

    def rows_of(self, keys: Iterable[Key]) -> Ints:
        """Return the rows of partitions, and add new partitions."""
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
        if total > most:  # in the order of times, so that no slice makes samples of the next slice late
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
        samples = _ordered(concatenated((self.waiting, samples)))
        duplicate, late = self._duplicate_or_late(samples)
        samples = samples.where(~(duplicate | late))
        np.maximum.at(self.table.newest, samples.row, samples.time)
        is_waiting = samples.time > self.table.newest[samples.row] - self.settings.delay
        self.waiting = samples.where(is_waiting)
        counts = SampleCounts(total, int(late.sum()), int(duplicate.sum()), ahead)
        return self._fold(samples.where(~is_waiting)), counts

    def flush(self, chosen: Bools | None = None) -> LoadRows:
        """Take the waiting samples of the chosen partitions, or of all, at the end of their input."""
        waiting = self.waiting
        flushed = np.full(len(waiting.row), fill_value=True) if chosen is None else chosen[waiting.row]
        self.waiting = waiting.where(~flushed)
        return self._fold(waiting.where(flushed))

    def forget(self, chosen: Bools) -> None:
        """Drop partitions, after `flush`."""
        is_kept = ~chosen
        row = np.cumsum(is_kept) - 1
        self.table.keep(is_kept)
        self.keys = [key for key, keep in zip(self.keys, is_kept.tolist(), strict=True) if keep]
        self._row_of = {key: number for number, key in enumerate(self.keys)}
        self.odd = {int(row[old]): counters for old, counters in self.odd.items() if is_kept[old]}
        waiting = self.waiting.where(is_kept[self.waiting.row])
        self.waiting = waiting._replace(row=row[waiting.row])
        self.changed |= {"names", "odd"}
        self._models.clear()

    def _duplicate_or_late(self, samples: Samples) -> tuple[Bools, Bools]:
        """Return which samples are duplicates, and which are before the last one taken of their partition."""
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
        """Return the rows that samples complete; the samples are in the order of partitions and times."""
        table = self.table
        odd = np.zeros(table.size, np.bool_)
        odd[list(self.odd)] = True
        odd[samples.row[~steps.steady(table, samples)]] = True
        one_by_one = odd[samples.row]
        done = self._steps_together(samples.where(~one_by_one))
        done.append(DoneSteps.of(self._steps_each(samples.where(one_by_one))))
        return self._learn(DoneSteps.in_order(done))

    def _steps_together(self, samples: Samples) -> list[DoneSteps]:
        """Count steady samples in numpy; return one `DoneSteps` for each end of a step."""
        marks, done = steps.take(self.table, samples), []
        for chosen in _by_end(np.argsort(marks.at, kind="stable"), marks.at):
            mark = marks.where(chosen)
            age, ends = steps.time_lags(self.table, mark), ~mark.is_start
            mark, age, whole = mark.where(ends), age[ends], np.ones(int(ends.sum()), np.int64)
            counted = (mark.row, mark.at, mark.arrived, mark.served, mark.lag, age, mark.quality)
            done.append(DoneSteps(*counted, end_known=whole.astype(np.bool_), steps=whole))
        return done

    def _steps_each(self, samples: Samples) -> Iterator[tuple[int, LoadStep]]:
        """Count samples by ``Steps``, one partition after the other; yield each step after its row."""
        table, values = self.table, zip(*(column.tolist() for column in samples), strict=True)
        for row, several in groupby(values, itemgetter(0)):
            if row in self.odd:
                self.changed.add("odd")
            counters = self.odd.pop(row) if row in self.odd else read_counters(table, row)
            for _, *sample in several:
                for step in counters.take(Sample(*sample)):
                    yield row, step
            table.time[row], table.begin[row], table.end[row], table.committed[row] = sample
            if not write_counters(table, row, counters):
                table.clear(row)
                self.odd[row] = counters
                self.changed.add("odd")

    def _learn(self, done: DoneSteps) -> LoadRows:
        """Let the models learn steps, and forecast from their ends.  The steps are in the order of ends."""
        outlooks = np.full((len(Outlooks._fields), len(done.row)), np.nan)
        ends = _by_end(np.arange(len(done.at)), done.at)
        rows = np.unique(done.row)
        if _ALONE * len(rows) + len(done.row) < _TOGETHER * len(ends):
            self._learn_alone(rows, done, outlooks)
        else:
            for chosen in ends:
                part = slice(chosen[0], chosen[-1] + 1)
                self._learn_together(done.where(part), outlooks[:, part])
        return LoadRows(*done[:7], *outlooks)

    def _learn_together(self, done: DoneSteps, outlooks: Floats) -> None:
        """Learn steps that end at the same time; write into ``outlooks``."""
        step_end, learnt = int(done.at[0]), done.arrived != MISSING
        if learnt.all():
            rows = slice(None) if len(learnt) == self.table.size else done.row
            outlooks[:] = self._models.learn(rows, step_end, done.arrived)
            return
        if learnt.any():
            outlooks[:, learnt] = self._models.learn(done.row[learnt], step_end, done.arrived[learnt])
        skipped = ~learnt & (self.table.seen[done.row] > 0)  # without a step learnt there is nothing to skip
        if skipped.any():
            self._models.skip(done.row[skipped], done.steps[skipped])
        if (forecast := skipped & done.end_known).any():
            outlooks[:, forecast] = self._models.outlook(done.row[forecast], step_end)

    def _learn_alone(self, rows: Ints, done: DoneSteps, outlooks: Floats) -> None:
        """Learn the steps of one partition after the other; write into ``outlooks``."""
        columns = (done.at, done.arrived, done.steps, done.end_known)
        for row in rows.tolist():
            model = read_model(self.table, row)
            for index in np.flatnonzero(done.row == row).tolist():
                step_end, arrived, length, end_known = (column[index].item() for column in columns)
                known = None if arrived == MISSING else arrived
                if (outlook := model.take(step_end, known, length, end_known=end_known)) is not None:
                    outlooks[:, index] = [np.nan if value is None else value for value in outlook]
            write_model(self.table, row, model)
        self._models.clear()


def _by_end(order: Ints, at: Ints) -> list[Ints]:
    """Split indices of steps, sorted by the steps' ends ``at``, into one array for each end."""
    return np.split(order, np.flatnonzero(np.diff(at[order])) + 1) if len(order) else []


def _ordered(samples: Samples) -> Samples:
    """Order samples by partition, then as ``Sample``."""
    order = np.lexsort((samples.time, samples.row))
    ordered = samples.where(order)
    ties = (np.diff(ordered.row) == 0) & (np.diff(ordered.time) == 0)
    return samples.where(np.lexsort(samples[::-1])) if ties.any() else ordered
