"""A bucket gives the rows of its partitions, bit for bit: the model of one partition is the oracle."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.forecast import UNKNOWN, LoadSettings, Sample, SampleCounts
from kafka_assignors.forecast.bucket import codec
from kafka_assignors.forecast.bucket.bucket import Bucket, Key
from kafka_assignors.forecast.bucket.partition import read_counters, read_model
from kafka_assignors.forecast.bucket.rows import MISSING, QUALITIES, LoadRows
from kafka_assignors.forecast.bucket.steps import Samples
from kafka_assignors.forecast.bucket.table import last_samples
from kafka_assignors.forecast.codec import encode
from kafka_assignors.forecast.mixture import Mixture
from kafka_assignors.forecast.model import Model
from kafka_assignors.forecast.season import Season
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.forecast.steps import Steps
from tests.property.forecast.samples import SETTINGS, START, steady, two_writers, wild
from tests.support.forecast.one_partition import LoadRow, Partition
from tests.support.quick import long

Given = list[tuple[int, Sample]]


class Both:
    """The same samples into a bucket that is stored after each batch, and into partitions one by one."""

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.stored: dict[str, bytes] = {}
        self.alone: dict[int, Partition] = {}
        self.together: list[tuple[Any, ...]] = []
        self.one_by_one: list[tuple[Any, ...]] = []

    def bucket(self) -> Bucket:
        return codec.decode(self.settings, self.stored.get)

    def take(self, samples: Given, now: int | None = None) -> None:
        bucket, counts = self.bucket(), SampleCounts(0, 0, 0, 0)
        rows = bucket.rows_of([key(number) for number, _ in samples])
        columns = np.array([sample for _, sample in samples], np.int64).reshape(-1, 4).T
        result, counted = bucket.take(Samples(rows, *columns), now)
        self.together += listed(result, bucket.keys)
        for number in dict.fromkeys(number for number, _ in samples):
            partition = self.alone.setdefault(number, Partition(self.settings))
            rows_alone, tally = partition.take([sample for other, sample in samples if other == number], now)
            self._add_one(number, rows_alone)
            counts = SampleCounts(*(a + b for a, b in zip(counts, tally, strict=True)))
        assert counted == counts
        self.stored |= codec.encode(bucket)

    def flush(self) -> None:
        bucket = self.bucket()
        self.together += listed(bucket.flush(), bucket.keys)
        for number, partition in self.alone.items():
            self._add_one(number, partition.flush())
        self.stored |= codec.encode(bucket)

    def check(self) -> None:
        """Compare all rows, and each state."""
        assert sorted(self.together) == sorted(self.one_by_one)
        bucket = self.bucket()
        for row, (_, _, number) in enumerate(bucket.keys):
            assert state_in(bucket, row) == state_of(self.alone[number])

    def _add_one(self, number: int, rows: list[LoadRow]) -> None:
        self.one_by_one += [(key(number), *values_of(row)) for row in rows]


def key(number: int) -> Key:
    return ("g", f"t{number % 3}", number)


def listed(rows: LoadRows, keys: list[Key]) -> list[tuple[Any, ...]]:
    """Return the rows with their partitions; -1: NaN, which is not equal to itself."""
    columns = (np.nan_to_num(column, nan=-1.0).tolist() for column in rows)
    return [(keys[row], *values) for row, *values in zip(*columns, strict=True)]


def state_in(bucket: Bucket, row: int) -> list[Any]:
    """Return the state of a partition in a bucket."""
    table, waiting = bucket.table, bucket.waiting.where(bucket.waiting.row == row)
    counters = bucket.odd[row] if row in bucket.odd else read_counters(table, row)
    samples = [Sample(*values) for values in zip(*(column.tolist() for column in waiting[1:]), strict=True)]
    last = Sample(*(int(column[0]) for column in last_samples(table, np.array([row]))))
    return [int(table.newest[row]), last, samples, comparable(counters), learnt(read_model(table, row))]


def state_of(partition: Partition) -> list[Any]:
    """Return the state of a partition alone."""
    counters, model = comparable(partition.steps), learnt(partition.model)
    return [partition.newest, partition.last, partition.waiting, counters, model]


def comparable(steps: Steps) -> list[int]:
    """Encode counters without the parts that have no effect any more."""
    steps.commits.marks = [mark for mark in steps.commits.marks if mark.at > steps.last_end.at]
    if steps.commits.order.pending == UNKNOWN:
        steps.commits.order.since = UNKNOWN
    steps.last_end = steps.last_end._replace(far=False)
    return encode(steps)


def learnt(model: Model) -> list[Any]:
    """Return what a model has learnt, without its caches."""
    others = {"settings", "season", "mixture", "forecasts", "forecasts_at", "ahead", "ahead_of", "pending"}
    parts = (
        (model, set(Model.__slots__) - others),
        (model.mixture, set(Mixture.__slots__) - {"_weights"}),
        (model.season, set(Season.__slots__) - {"changes", "slots", "zone"}),
    )
    return [
        *((name, getattr(part, name)) for part, names in parts for name in sorted(names)),
        str(model.pending),  # NaN is not equal to itself
    ]


def values_of(row: LoadRow) -> tuple[Any, ...]:
    """Return a row's values as `listed` does."""
    step, outlook = row
    counts = (MISSING if count is None else count for count in step[1:5])
    forecast = [-1.0] * 5 if outlook is None else [-1.0 if value is None else value for value in outlook]
    return (step.at, *counts, QUALITIES.index(step.quality), *forecast)


def in_batches(both: Both, several: list[list[Sample]], chance: Any, *, clock: bool) -> None:
    """Give samples of several partitions, mixed up by more than the delay, some of them twice."""
    queue = [(number, sample) for number, samples in enumerate(several) for sample in samples]
    queue += queue[::5]
    queue.sort(key=lambda given: given[1].time + chance.randrange(300 * SECOND))
    while queue:
        size = chance.randrange(1, 60)
        batch, queue = queue[:size], queue[size:]
        now = max(sample.time for _, sample in batch) - 90 * SECOND if clock else None
        both.take(batch, now)
    both.flush()
    both.check()


@given(
    st.lists(st.one_of(steady(), wild(), two_writers()), min_size=1, max_size=8), st.randoms(), st.booleans()
)
def test_bucket_gives_the_rows_of_its_partitions(
    several: list[list[Sample]], chance: Any, clock: bool
) -> None:
    in_batches(Both(SETTINGS), several, chance, clock=clock)


def faulty(number: int, looks: int, chance: Random) -> list[Sample]:
    """A partition with every fault of a counter, and hours of traffic around it."""
    begin = end = committed = 0
    samples = []
    for n in range(looks):
        busy = 1 + math.sin(n / 300 + number)
        end += int(chance.randrange(60) * busy) if n % 900 < 700 else 0
        committed = min(end, max(committed, begin) + chance.randrange(62))
        fault = number % 9 if chance.random() < 0.004 else 0
        if fault == 1:
            begin, end, committed = 0, 5, 2  # created again
        if fault == 2:
            committed = begin  # set back
        if fault == 3:
            begin = max(begin, end - 3)  # retention took nearly all
        if fault == 4:
            end += 10**12  # more than 63 bits when multiplied by a time
        if number % 9 == 5 and n % 400 > 340:
            continue  # a gap
        if number % 9 == 6:
            samples.append(Sample(START + (20 * n + 3) * SECOND, UNKNOWN, UNKNOWN, committed))
        commit = UNKNOWN if number % 9 == 7 else -1 if n < 50 else committed
        samples.append(Sample(START + 20 * n * SECOND + chance.randrange(10 * SECOND), begin, end, commit))
    return samples


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(
    ("settings", "looks"),
    [
        (LoadSettings(60, 60, 200, 900), 600),
        (LoadSettings(60, 3_600, 200, 900, "latest"), 900),
        (LoadSettings(900, 900, 200, 13_500, "latest", "Asia/Kathmandu"), 500),  # 5:45 hours from UTC
        long(LoadSettings(900, 21_600, 200, 13_500, "earliest", "Europe/Berlin"), 4_200),
    ],
)
def test_bucket_gives_the_rows_of_days(
    settings: LoadSettings, looks: int, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest samples span two weeks, so that the season of the week counts."""
    if alone:  # so that no number of partitions learns together
        monkeypatch.setattr("kafka_assignors.forecast.bucket.bucket._TOGETHER", 10**9)
    monkeypatch.setattr("kafka_assignors.forecast.bucket.bucket._AT_ONCE", 500)
    chance, stretch = Random(settings.horizon_s), round(settings.step_s / 60)
    both = Both(settings)
    queue = [
        (START + (sample.time - START) * stretch, number, sample)
        for number in range(18)
        for sample in faulty(number, looks, chance)
    ]
    queue.sort()
    while queue:
        size = chance.choice([20, 20, 300, 3_000])
        batch, queue = queue[:size], queue[size:]
        both.take([(number, sample._replace(time=time)) for time, number, sample in batch])
    both.flush()
    both.check()
