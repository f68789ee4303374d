"""One partition: samples in, rows out.  No I/O.

Samples arrive in any order, some of them twice.  Each waits until the newest sample of its partition is
``delay`` ahead of it.  Then samples are taken in the order of their times.  So the rows do not depend on how
the samples were cut into batches, unless a sample arrives later than ``delay``.  Such a sample is still taken
if no later one was.  Otherwise it is *late*: dropped and counted.

The time of the newest sample is the clock of its partition.  So delayed samples of one group do not make
those of other groups late, and a sample from the future ends the wait only for its own partition.  But if
samples from the future span more than ``delay``, the first of them are taken, and all correct ones are late
from then on.  So callers pass the current time if they know it: samples *ahead* of it are dropped and
counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_assignors.forecast.model import Model, Outlook
from kafka_assignors.forecast.samples import UNKNOWN, Sample, plausible
from kafka_assignors.forecast.settings import SECOND, LoadSettings
from kafka_assignors.forecast.steps import LoadStep, Steps

AHEAD = 60 * SECOND
"""A sample may be ahead of the current time by this much, or by ``delay`` if that is longer.

Synchronised clocks differ by less.  When a clock that was ahead is corrected, its samples are late until they
are newer than those taken before: for this long at most.
"""


class LoadRow(NamedTuple):
    """A step, and the forecast at its end."""

    step: LoadStep
    outlook: Outlook | None  # None: the model has learnt nothing yet, or the end offset is unknown


class SampleCounts(NamedTuple):
    """Counts of the samples given to `Partition.take`."""

    samples: int  # all of them
    late: int
    duplicates: int
    ahead: int = 0


class Partition:
    """The load of one partition of one group.

    Its size is fixed, except for the waiting samples.  A sample takes about 3 µs, a step 40 µs.
    """

    __slots__ = ("last", "model", "newest", "settings", "steps", "waiting")

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.steps = Steps(settings)
        self.model = Model(settings)
        self.newest = UNKNOWN  # time of the newest sample
        self.last = Sample(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)  # the sample taken last
        self.waiting: list[Sample] = []  # in order, without duplicates

    def take(self, samples: Iterable[Sample], now: int | None = None) -> tuple[list[LoadRow], SampleCounts]:
        """Take samples in any order, and return the rows that they complete.

        Args:
            samples: the samples.
            now: current time, microseconds since 1970.  None: unknown, so no sample is ahead of it.
        """
        given = sorted(plausible(sample) for sample in samples)
        total = len(given)
        if now is not None:
            latest = now + max(AHEAD, self.settings.delay)
            given = [sample for sample in given if sample.time <= latest]
        late = duplicates = 0
        fresh: list[Sample] = []
        for sample in sorted([*self.waiting, *given]):
            if sample == (fresh[-1] if fresh else self.last):
                duplicates += 1
            elif sample < self.last:
                late += 1
            else:
                fresh.append(sample)
        if fresh:
            self.newest = max(self.newest, fresh[-1].time)
        due = self.newest - self.settings.delay
        ready = next((index for index, sample in enumerate(fresh) if sample.time > due), len(fresh))
        self.waiting = fresh[ready:]
        return self.fold(fresh[:ready]), SampleCounts(total, late, duplicates, total - len(given))

    def flush(self) -> list[LoadRow]:
        """Take the waiting samples at the end of the input."""
        samples, self.waiting = self.waiting, []
        return self.fold(samples)

    def fold(self, samples: list[Sample]) -> list[LoadRow]:
        """Take ordered samples immediately.  Waiting samples keep waiting."""
        rows: list[LoadRow] = []
        for sample in samples:
            self.last = sample
            rows.extend(self._row(step) for step in self.steps.take(sample))
        return rows

    def _row(self, step: LoadStep) -> LoadRow:
        if step.arrived is None:
            self.model.skip(step.steps)
            # If the end offset is known after a gap or a reset, the level before it is the best estimate.
            return LoadRow(step, self.model.outlook(step.at) if step.seen else None)
        self.model.learn(step.at, step.arrived)
        return LoadRow(step, self.model.outlook(step.at))
