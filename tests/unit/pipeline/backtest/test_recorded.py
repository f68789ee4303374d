"""Rows of the load table, laid out as a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.history_shape import MICROSECONDS, LoadColumns
from kafka_assignors.pipeline.backtest.recorded import RecordedBuilder, missing_times
from kafka_assignors.simulation import History
from tests.support.simulation.assembled import Rows, assembled, shaped

Cell = tuple[int, str, int, float | None, float | None, float | None]
"""Step, topic, partition, arrived, served, lag at the end."""

START = 1_000_000_000 * MICROSECONDS


def rows(cells: Sequence[Cell], *, step_s: float = 10.0, **columns: Sequence[float | None]) -> Rows:
    def numbers(values: Sequence[float | None]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([np.nan if value is None else value for value in values], np.float64)

    count = len(cells)
    return {
        "time": np.array([START + round((cell[0] + 1) * step_s * MICROSECONDS) for cell in cells]),
        "step_s": numbers(columns.get("lengths", [step_s] * count)),
        "topic": np.array([cell[1] for cell in cells], object),
        "partition": np.array([cell[2] for cell in cells], np.int64),
        "arrived": numbers([cell[3] for cell in cells]),
        "served": numbers([cell[4] for cell in cells]),
        "lag": numbers([cell[5] for cell in cells]),
        "forecast": numbers(columns.get("forecast", [None] * count)),
        "horizon_s": numbers(columns.get("horizon_s", [60.0] * count)),
    }


def test_steps_and_partitions_are_in_the_planners_order() -> None:
    cells: list[Cell] = [
        (step, topic, p, 100 * step + 10 * p + len(topic), 0, 0)
        for step in range(3)
        for topic, count in (("b", 2), ("aa", 1))
        for p in range(count)
    ]
    shuffled = [cells[i] for i in (4, 0, 8, 2, 6, 1, 7, 3, 5)]
    recorded = assembled(rows(shuffled)).history
    assert recorded.topics == {"aa": 1, "b": 2}
    assert recorded.arrivals.tolist() == [[2, 1, 11], [102, 101, 111], [202, 201, 211]]
    assert (recorded.step_s, recorded.starts_at) == (10.0, START / MICROSECONDS)


def test_lag_before_the_first_step_is_the_start_lag() -> None:
    recorded = assembled(rows([(0, "t", 0, 30, 10, 50), (1, "t", 0, 5, 25, 30)]))
    assert recorded.history.start_lags.tolist() == [30]  # 30 + 30 - 10 = 50
    assert recorded.lag.tolist() == [50, 30]


def test_gap_is_interpolated_in_time_and_counted() -> None:
    cells: list[Cell] = [(0, "t", 0, 10, 10, 0), (1, "t", 0, None, None, None), (3, "t", 0, 40, 40, 0)]
    recorded = assembled(rows(cells))
    assert recorded.history.arrivals[:, 0].tolist() == [10, 20, 30, 40]  # step 2 has no row at all
    assert recorded.unknown == 0.5
    assert np.isnan(recorded.lag).tolist() == [False, True, True, False]


def test_unknown_partition_counts_as_empty() -> None:
    cells: list[Cell] = [(0, "t", 0, 10, 10, 0), (0, "t", 1, None, None, None)]
    recorded = assembled(rows(cells))
    assert recorded.history.arrivals.tolist() == [[10, 0]]
    assert (recorded.never_known, recorded.unknown) == (1, 0.5)


def test_partition_that_appears_later_adds_its_lag_as_arrivals() -> None:
    cells: list[Cell] = [(s, "t", 0, 10, 10, 0) for s in range(3)]
    cells += [(1, "t", 1, 5, 2, 23), (2, "t", 1, 7, 30, 0)]
    recorded = assembled(rows(cells))
    assert recorded.history.arrivals[:, 1].tolist() == [0, 25, 7]  # 20 waited when it was first seen
    assert recorded.history.start_lags.tolist() == [0, 0]
    assert (recorded.appeared, recorded.unknown) == (1, 0.0)
    assert recorded.lag.tolist() == [0, 23, 0]


def test_newest_known_lag_of_a_partition_and_its_age() -> None:
    cells: list[Cell] = [(0, "t", 0, 1, 1, 9), (1, "t", 0, 1, 1, None), (2, "t", 1, 1, 1, 7)]
    recorded = assembled(rows([*cells, (2, "t", 2, 1, 1, None)]))
    assert recorded.newest_lag[:2].tolist() == [9, 7]
    assert recorded.lag_age[:2].tolist() == [2, 0]
    assert np.isnan(recorded.newest_lag[2])


@pytest.mark.parametrize(
    ("step_s", "last", "is_empty"),
    [(60.0, 9, True), (60.0, 38, True), (60.0, 39, False), (1800.0, 95, True), (1800.0, 96, False)],
)
def test_partition_is_empty_after_rows_that_end_early(step_s: float, last: int, is_empty: bool) -> None:
    """Up to an hour or three steps without a row are a ragged end, in which arrivals are unknown."""
    cells: list[Cell] = [(s, "a", 0, 100, 100, 9) for s in range(100)]
    cells += [(s, "b", 0, 100, 100, 7) for s in range(last + 1)]
    recorded = assembled(rows(cells, step_s=step_s))
    records = 100 * (last + 1) if is_empty else 10_000
    assert recorded.history.arrivals.sum(axis=0).tolist() == [10_000, records]
    assert recorded.lag[last] == 16
    assert str(recorded.lag[-1]) == ("9.0" if is_empty else "nan")
    assert recorded.unknown == (0 if is_empty else (99 - last) / 200)
    assert recorded.ended.tolist() == [False, is_empty]


@pytest.mark.parametrize(("first", "step_s"), [(0, 60.0), (90, 10.0)], ids=["ends before", "appears after"])
def test_partition_beside_the_backlog_leaves_the_service_rate_known(first: int, step_s: float) -> None:
    """Of 100 steps, those from 20 to 80 have a backlog, in which two members read 10 records/s."""
    served = round(10 * step_s)
    cells: list[Cell] = [(s, "a", 0, 0, 0, 0) for s in range(20)]
    cells += [(s, "a", 0, served, served, 5_000) for s in range(20, 80)]
    cells += [(s, "a", 0, 0, 0, 0) for s in range(80, 100)]
    beside: list[Cell] = [(s, "b", 0, 5, 5, 0) for s in range(first, first + 10)]
    rates = [
        assembled(rows(of, step_s=step_s), recorded_members=2).history.service_rate
        for of in (cells, cells + beside)
    ]
    assert rates == [5, 5]


def test_only_forecasts_of_the_most_frequent_horizon_are_used() -> None:
    cells: list[Cell] = [(s, "t", 0, 10, 10, 0) for s in range(4)]
    recorded = assembled(rows(cells, forecast=[60, None, -1, 600], horizon_s=[60, 60, 60, 3600])).history
    assert recorded.horizon_s == 60
    assert recorded.expected is not None
    assert np.nan_to_num(recorded.expected[:, 0], nan=-9).tolist() == [60, -9, 0, -9]
    assert assembled(rows(cells)).history.expected is None


def between(columns: LoadColumns, begin: int, end: int) -> LoadColumns:
    """Return the rows of some partitions."""
    wanted = (begin <= columns.index) & (columns.index < end)
    return LoadColumns(*(getattr(columns, column.name)[wanted] for column in fields(columns)))


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("recorded_members", [None, 3])
@pytest.mark.parametrize("forecasts", [True, False])
def test_parts_join_to_the_whole_history(width: int, recorded_members: int | None, forecasts: bool) -> None:
    """With gaps, unknown lag, late partitions and one without any row."""
    hole = ("a", 2) if recorded_members is None else None  # with a hole the lag of the group is never known
    random = np.random.default_rng(3)
    cells: list[Cell] = []
    lags = dict.fromkeys([(topic, n) for topic, count in (("b", 3), ("a", 5)) for n in range(count)], 50)
    for step in range(80):
        for (topic, n), lag in lags.items():
            if (topic, n) == hole or step < 9 * n or random.random() < 0.02:
                continue
            arrived, served = int(random.integers(0, 60)), int(random.integers(20, 40))
            lags[topic, n] = left = max(lag + arrived - served, 0)
            known = random.random() > 0.01
            cells.append((step, topic, n, arrived if known else None, served, left if known else None))
    forecast = [float(random.integers(0, 99)) if forecasts else None for _ in cells]
    horizons = [3600.0 if number % 5 == 0 else 60.0 for number in range(len(cells))]
    of = rows(cells, forecast=forecast, horizon_s=horizons)
    whole, (shape, columns) = assembled(of, recorded_members=recorded_members), shaped(of)
    assert (shape.partitions, shape.horizon_s) == (8, 60.0 if forecasts else None)
    begins = list(range(0, 8, width))
    random.shuffle(begins)
    builder = RecordedBuilder(shape, np.empty)
    for begin in begins:
        builder.add(between(columns, begin, begin + width), begin, min(begin + width, 8))
    in_parts = builder.recorded(recorded_members)
    assert whole.history.service_rate is not None
    assert whole.unknown > 0
    assert (whole.never_known, whole.appeared) == ((1, 5) if hole else (0, 6))
    assert in_parts.unknown == whole.unknown
    assert (in_parts.never_known, in_parts.appeared) == (whole.never_known, whole.appeared)
    for name in ("lag", "ended", "newest_lag", "lag_age"):
        np.testing.assert_array_equal(getattr(in_parts, name), getattr(whole, name))
    for field in fields(History):
        of_parts, of_whole = (getattr(each.history, field.name) for each in (in_parts, whole))
        if isinstance(of_whole, np.ndarray):
            np.testing.assert_array_equal(of_parts, of_whole)
        else:
            assert of_parts == of_whole, field.name


@pytest.mark.parametrize(
    ("cells", "columns", "message"),
    [
        (
            [(0, topic, n, 1, 1, 0) for topic in "abc" for n in range(3)] + [(0, "b", 2, 1, 1, 0)],
            {},
            "b-2 has a step more than once",
        ),
        ([(0, "t", 0, 1, 1, 0), (0, "t", 0, 1, 1, 0)], {}, "t-0 has a step more than once"),
        ([(0, "t", 0, 1, 1, 0), (1, "t", 0, 1, 1, 0)], {"lengths": [10, 60]}, "steps of 10 s and of 60 s"),
        (
            [(0, "t", 0, 1, 1, 0), (1, "t", 0, 1, 1, 0)],
            {"lengths": [7, 7]},
            "its steps do not all end multiples of 7 s apart",
        ),
        ([(0, "t", 0, None, None, None)], {}, "not one step with known arrivals"),
        ([(0, "t", -1, 1, 1, 0)], {}, "number -1"),
    ],
)
def test_invalid_history_is_refused(cells: list[Cell], columns: dict[str, Any], message: str) -> None:
    with pytest.raises(HistoryError, match=rf"group 'g': .*{message}"):
        assembled(rows(cells, **columns))


def test_missing_part_of_the_requested_time_is_described() -> None:
    two_minutes = assembled(rows([(step, "t", 0, 1, 1, 0) for step in range(12)]))
    first = datetime.fromtimestamp(START / MICROSECONDS, timezone.utc)
    last = first + timedelta(seconds=120)
    assert missing_times(two_minutes, None, None) is None
    assert missing_times(two_minutes, first - timedelta(seconds=9), last + timedelta(seconds=9)) is None
    before = missing_times(two_minutes, first - timedelta(hours=2), last)
    assert before == "group 'g': nothing from 2001-09-08 23:46 to 2001-09-09 01:46 UTC was recorded"
    zone = timezone(timedelta(hours=9))
    assert missing_times(two_minutes, (first - timedelta(hours=2)).astimezone(zone), last) == before
    both = missing_times(two_minutes, first - timedelta(hours=2), last + timedelta(hours=1))
    assert both == (
        "group 'g': nothing from 2001-09-08 23:46 to 2001-09-09 01:46 and nothing from 2001-09-09 01:48 to "
        "2001-09-09 02:48 UTC was recorded"
    )
