"""Samples of one partition in any order: waiting, late and ahead."""

from __future__ import annotations

import dataclasses
import random

import pytest

from kafka_assignors.forecast import Sample, SampleCounts
from kafka_assignors.forecast.settings import SECOND
from tests.support.forecast.one_partition import Alone
from tests.unit.forecast.looks import SETTINGS, look, minutes, rows_of


def growing(count: int = 400) -> list[Sample]:
    """Make a sample about every 20 s, for more than two hours."""
    chance = random.Random(5)
    end = committed = 0
    samples = []
    for n in range(count):
        end += chance.randrange(50)
        committed = min(end, committed + chance.randrange(52))
        samples.append(look(20 * n + chance.randrange(15), end, committed))
    return samples


def test_step_is_final_when_no_sample_before_its_end_can_arrive() -> None:
    """With a delay of two minutes, the step of the first minute is final with a sample at 3:00."""
    partition = Alone(SETTINGS)
    rows, _ = partition.take([look(0, 0), look(60, 5), look(179, 9)])
    assert rows == []
    rows, _ = partition.take([look(180, 10)])
    assert [minutes(row.step) for row in rows] == [1]


def test_sample_is_late_once_a_later_one_was_taken() -> None:
    """A late sample is counted and changes nothing."""
    partition = Alone(SETTINGS)
    partition.take([look(0, 0), look(60, 5), look(120, 9), look(300, 20)])
    rows, tally = partition.take([look(90, 7)])
    assert (rows, tally) == ([], SampleCounts(1, 1, 0))
    rows = partition.flush()
    assert [row.step.arrived for row in rows] == [3, 4, 4]


def test_duplicate_of_an_earlier_sample_than_the_last_is_late() -> None:
    partition = Alone(SETTINGS)
    partition.take([look(0, 0), look(60, 5), look(120, 9), look(300, 20)])
    assert partition.take([look(60, 5)])[1] == SampleCounts(1, 1, 0)
    assert partition.take([look(120, 9)])[1] == SampleCounts(1, 0, 1), "the last that is not waiting"


def test_sample_older_than_the_delay_is_taken_if_no_later_one_was() -> None:
    partition = Alone(SETTINGS)
    partition.take([look(0, 0), look(600, 20)])
    _, tally = partition.take([look(60, 5)])
    assert tally == SampleCounts(1, 0, 0)


def test_one_sample_from_the_future_makes_no_other_late() -> None:
    """The clock was a day ahead once; later samples are still taken in their order."""
    partition, got = Alone(SETTINGS), []
    samples = growing(60)
    for sample in [*samples[:30], look(86_400, 10**6), *samples[30:]]:
        rows, tally = partition.take([sample])
        assert tally.late == 0
        got += rows
    assert [row.step.arrived for row in got] == [row.step.arrived for row in rows_of(samples)][: len(got)]


@pytest.mark.parametrize(("delay_s", "most"), [(0, 60), (120, 120)])
def test_sample_ahead_by_more_than_a_minute_or_the_delay_is_dropped(delay_s: float, most: int) -> None:
    """A sample ahead is counted and changes nothing."""
    partition = Alone(dataclasses.replace(SETTINGS, delay_s=delay_s))
    now = look(60).time
    _, tally = partition.take([look(0, 5), look(60 + most, 6), look(61 + most, 7), look(61 + most, 7)], now)
    assert tally == SampleCounts(4, 0, 0, 2)
    assert partition.bucket.table.newest == look(60 + most).time
    assert partition.take([look(61 + most, 7)], now + SECOND)[1] == SampleCounts(1, 0, 0, 0)
    assert partition.take([look(90_000, 8)])[1] == SampleCounts(1, 0, 0, 0)  # the time is unknown


def test_clock_an_hour_ahead_for_ten_minutes_loses_only_those_samples() -> None:
    """Samples after the correction of the clock are taken in their order."""
    partition, got = Alone(SETTINGS), []
    late = ahead = 0
    right = [(at, look(at, at, at)) for at in range(0, 9_000, 30)]
    sampled = [(at, look(at + 3_600, at, at) if 3_600 <= at < 4_200 else sample) for at, sample in right]
    for at, sample in sampled:
        rows, tally = partition.take([sample], look(at + 1).time)
        late, ahead = late + tally.late, ahead + tally.ahead
        got += rows
    assert (late, ahead) == (0, 20)
    expected = rows_of([sample for at, sample in right if not 3_600 <= at < 4_200])
    assert got + partition.flush() == expected
    assert {row.step.arrived for row in got[60:]} <= {60, None}


def test_gap_ends_with_the_forecast_of_the_level_before_it() -> None:
    rows = rows_of([*[look(60 * n, 60 * n) for n in range(30)], look(3_600, 9_000), look(3_660, 9_060)])
    [gap] = [row for row in rows if row.step.quality == "gap"]
    assert gap.outlook is not None
    assert round(gap.outlook.arrivals) == 900
