"""One partition: in a bucket of its own, and as the oracle, which does all without ``forecast.bucket``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kafka_assignors.forecast import NO_COMMIT, UNKNOWN, LoadSettings, LoadStep, Outlook, Sample, SampleCounts
from kafka_assignors.forecast.bucket import codec
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.rows import MISSING, QUALITIES, LoadRows
from kafka_assignors.forecast.bucket.steps import Samples
from kafka_assignors.forecast.model import Model
from kafka_assignors.forecast.samples import AHEAD
from kafka_assignors.forecast.steps import Steps


class LoadRow(NamedTuple):
    """A step, and the forecast at its end."""

    step: LoadStep
    outlook: Outlook | None  # None: the model has learnt nothing yet, or the end offset is unknown


class Alone:
    """A bucket of one partition; stored after each call."""

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self._stored: dict[str, bytes] = {}

    @property
    def bucket(self) -> Bucket:
        """The bucket as it is stored."""
        bucket = codec.decode(self.settings, self._stored.get)
        bucket.rows_of([("g", "t", 0)])
        return bucket

    def take(self, samples: Iterable[Sample], now: int | None = None) -> tuple[list[LoadRow], SampleCounts]:
        """Take samples in any order, and return the rows that they complete."""
        bucket, columns = self.bucket, np.array(list(samples), np.int64).reshape(-1, 4).T
        rows, counts = bucket.take(Samples(np.zeros(columns.shape[1], np.int64), *columns), now)
        self._stored |= codec.encode(bucket)
        return load_rows(rows), counts

    def flush(self) -> list[LoadRow]:
        """Take the waiting samples at the end of the input."""
        bucket = self.bucket
        rows = bucket.flush()
        self._stored |= codec.encode(bucket)
        return load_rows(rows)


def load_rows(rows: LoadRows) -> list[LoadRow]:
    """Return the rows of a partition one by one; ``seen`` and ``steps`` are not among their columns."""
    result = []
    for _, at, *counts, quality, level, trend, season, arrivals, error in zip(
        *(column.tolist() for column in rows), strict=True
    ):
        arrived, served, lag, time_lag = (None if count == MISSING else count for count in counts)
        step = LoadStep(at, arrived, served, lag, time_lag, QUALITIES[quality], end_known=True, steps=1)
        outlook = Outlook(level, trend, season, arrivals, None if math.isnan(error) else error)
        result.append(LoadRow(step, None if math.isnan(level) else outlook))
    return result


class Partition:
    """The load of one partition of one group."""

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.steps = Steps(settings)
        self.model = Model(settings)
        self.newest = UNKNOWN  # time of the newest sample
        self.last = Sample(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)  # the sample taken last
        self.waiting: list[Sample] = []  # in order, without duplicates

    def take(self, samples: Iterable[Sample], now: int | None = None) -> tuple[list[LoadRow], SampleCounts]:
        """Take samples in any order, and return the rows that they complete."""
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
            for step in self.steps.take(sample):
                outlook = self.model.take(step.at, step.arrived, step.steps, end_known=step.end_known)
                rows.append(LoadRow(step, outlook))
        return rows


def plausible(sample: Sample) -> Sample:
    """Replace impossible offsets with ``UNKNOWN``."""
    begin, end = (offset if offset >= 0 else UNKNOWN for offset in sample[1:3])
    committed = sample.committed if sample.committed >= NO_COMMIT else UNKNOWN
    return Sample(sample.time, begin, end, committed)
