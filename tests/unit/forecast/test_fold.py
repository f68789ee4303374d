"""One partition's samples in any order: what waits, what is late, what comes out."""

from __future__ import annotations

import dataclasses
import random

import pytest

from kafka_assignors.forecast import Partition, Sample, Tally, decode, encode
from kafka_assignors.forecast.settings import SECOND
from tests.unit.forecast.looks import SETTINGS, look, minutes, rows_of


def growing(count: int = 400) -> list[Sample]:
    """A look every 20 s or so, for more than two hours."""
    chance = random.Random(5)
    end = committed = 0
    looks = []
    for n in range(count):
        end += chance.randrange(50)
        committed = min(end, committed + chance.randrange(52))
        looks.append(look(20 * n + chance.randrange(15), end, committed))
    return looks


def test_a_step_waits_until_nothing_before_its_end_can_come() -> None:
    """Two minutes of delay: the step of the first minute is final with a look at 3:00."""
    partition = Partition(SETTINGS)
    rows, _ = partition.take([look(0, 0), look(60, 5), look(179, 9)])
    assert rows == []
    rows, _ = partition.take([look(180, 10)])
    assert [minutes(row.step) for row in rows] == [1]


def test_samples_out_of_order_give_the_same_rows() -> None:
    looks = growing()
    expected = rows_of(looks)
    assert len(expected) > 100
    partition, chance, got = Partition(SETTINGS), random.Random(7), []
    for first in range(0, len(looks), 5):  # 5 looks are 100 s, less than the delay
        batch = looks[first : first + 5]
        chance.shuffle(batch)
        for sample in batch:
            got += partition.take([sample])[0]
    assert got + partition.flush() == expected


def test_the_state_goes_through_bytes_unchanged() -> None:
    """A partition that is written down and read back after each sample gives the same rows."""
    looks, partition, got = growing(), Partition(SETTINGS), []
    for sample in looks:
        rows, _ = partition.take([sample])
        got += rows
        partition = decode(encode(partition), SETTINGS)
    assert got + partition.flush() == rows_of(looks)


def test_a_sample_twice_counts_once() -> None:
    looks = growing(40)
    partition = Partition(SETTINGS)
    first, told = partition.take([*looks, *looks[::2]])
    assert told == Tally(60, 0, 20)
    again, told = partition.take(looks[-3:])
    assert (again, told) == ([], Tally(3, 0, 3))
    assert first + partition.flush() == rows_of(looks)


def test_a_sample_is_late_once_a_later_one_was_taken() -> None:
    """It is counted, and changes nothing."""
    partition = Partition(SETTINGS)
    partition.take([look(0, 0), look(60, 5), look(120, 9), look(300, 20)])
    rows, told = partition.take([look(90, 7)])
    assert (rows, told) == ([], Tally(1, 1, 0))
    rows = partition.flush()
    assert [row.step.arrived for row in rows] == [3, 4, 4]


def test_a_sample_that_was_already_taken_and_is_not_the_last_counts_as_late() -> None:
    partition = Partition(SETTINGS)
    partition.take([look(0, 0), look(60, 5), look(120, 9), look(300, 20)])
    assert partition.take([look(60, 5)])[1] == Tally(1, 1, 0)


def test_a_sample_behind_the_delay_is_taken_if_nothing_after_it_was() -> None:
    partition = Partition(SETTINGS)
    partition.take([look(0, 0), look(600, 20)])
    _, told = partition.take([look(60, 5)])
    assert told == Tally(1, 0, 0)


def test_a_sample_from_the_future_makes_nobody_late() -> None:
    """A clock that was a day ahead for once: what comes after it is still taken, in its order."""
    partition, got = Partition(SETTINGS), []
    looks = growing(60)
    for sample in [*looks[:30], look(86_400, 10**6), *looks[30:]]:
        rows, told = partition.take([sample])
        assert told.late == 0
        got += rows
    assert [row.step.arrived for row in got] == [row.step.arrived for row in rows_of(looks)][: len(got)]


@pytest.mark.parametrize(("delay_s", "most"), [(0, 60), (120, 120)])
def test_a_sample_is_ahead_when_it_is_beyond_what_clocks_differ_by(delay_s: float, most: int) -> None:
    """By more than a minute, or the delay; it is counted, and changes nothing."""
    partition = Partition(dataclasses.replace(SETTINGS, delay_s=delay_s))
    now = look(60).time
    _, told = partition.take([look(0, 5), look(60 + most, 6), look(61 + most, 7), look(61 + most, 7)], now)
    assert told == Tally(4, 0, 0, 2)
    assert partition.newest == look(60 + most).time
    assert partition.take([look(61 + most, 7)], now + SECOND)[1] == Tally(1, 0, 0, 0)
    assert partition.take([look(90_000, 8)])[1] == Tally(1, 0, 0, 0)  # nobody says what time it is


def test_a_clock_that_was_an_hour_ahead_for_ten_minutes_costs_those_and_no_more() -> None:
    """All that comes once it was put right is taken in its order, as if the clock had said nothing."""
    partition, got = Partition(SETTINGS), []
    late = ahead = 0
    right = [(at, look(at, at, at)) for at in range(0, 14_400, 10)]
    seen = [(at, look(at + 3_600, at, at) if 3_600 <= at < 4_200 else sample) for at, sample in right]
    for at, sample in seen:
        rows, told = partition.take([sample], look(at + 1).time)
        late, ahead = late + told.late, ahead + told.ahead
        got += rows
    assert (late, ahead) == (0, 60)
    expected = rows_of([sample for at, sample in right if not 3_600 <= at < 4_200])
    assert got + partition.flush() == expected
    assert {row.step.arrived for row in got[60:]} <= {60, None}


def test_impossible_offsets_are_unknown() -> None:
    rows = rows_of([look(0, -5, -7, begin=-1), look(60, 10, 3), look(120, 30, 5), look(180, 40, 6)])
    assert [(row.step.arrived, row.step.served) for row in rows] == [(20, 2), (10, 1)]


def test_an_empty_step_has_no_outlook() -> None:
    """But the step at which the end was seen again has: the level before the gap is the best there is."""
    rows = rows_of([*[look(60 * n, 60 * n) for n in range(30)], look(3_600, 9_000), look(3_660, 9_060)])
    gap = [row for row in rows if row.step.quality == "gap"]
    assert [row.outlook is None for row in gap] == [True] * (len(gap) - 1) + [False]
    assert gap[-1].outlook is not None
    assert round(gap[-1].outlook.arrivals) == 900
