"""The results of one run over the backlog, from logs made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from demo.figures.drain import least_largest, measure_drain
from kafka_assignors.errors import KafkaAssignorsError
from tests.unit.demo.story import at, done, uneven_backlog


@pytest.mark.parametrize(
    ("records", "heaviest", "members", "least"), [(100, 10, 4, 25), (101, 10, 4, 26), (100, 40, 4, 40)]
)
def test_bound_is_the_mean_load_or_the_heaviest_partition(
    records: int, heaviest: int, members: int, least: int
) -> None:
    assert least_largest(records, heaviest, members) == least


def test_figures_count_from_the_start_signal() -> None:
    """At 3 s, m1 has 10 records of partition 0 left, and m2 has just taken over 10."""
    result = dict(measure_drain("range", uneven_backlog(), work_ms=100))
    lag, largest = result.pop("lag"), result.pop("largest")
    assert result == {
        "strategy": "range",
        "produced": 50,
        "processed": 50,
        "lost": 0,
        "duplicates": 0,
        "largest_load": 40,
        "least_largest": 30,
        "drain": 6.0,
        "bound": 3.0,
        "ratio": 2.0,
        "first_idle": 5.0,
        "moved": 1,
        "rebalances": 1,
        "fault": "",
        "double_owned": 0,
        "owned_at_end": 3,
    }
    assert isinstance(lag, dict)
    places = [lag["t"].index(t) for t in (0.0, 3.0, 7.0)]
    assert [[series[place] for place in places] for series in lag["members"].values()] == [
        [40, 10, 0],
        [10, 10, 0],
    ]
    assert isinstance(largest, list)
    assert [largest[place] for place in places] == [40, 10, 0]


def test_member_without_work_is_idle_from_the_start_and_free_records_have_no_bound() -> None:
    logs = dataclasses.replace(uneven_backlog(), consumers=3)
    result = measure_drain("range", logs, work_ms=0)
    assert (result["first_idle"], result["bound"], result["ratio"]) == (0.0, 0.0, None)


def test_unfinished_backlog_is_measured_and_has_a_fault() -> None:
    logs = uneven_backlog()
    driver = [*logs.driver[:-1], at(14, "end", note="not drained within 4 s")]
    result = measure_drain("range", dataclasses.replace(logs, driver=driver), work_ms=100)
    assert (result["fault"], result["processed"], result["lost"]) == ("not drained within 4 s", 30, 20)


def test_repeated_records_and_second_owners_are_counted_and_do_not_prolong_the_drain() -> None:
    logs = uneven_backlog()
    second = [*logs.members["m2"], at(14, "assigned", 0), done(14, 16.5, 0, 20, 24)]
    logs = dataclasses.replace(logs, members=dict(logs.members) | {"m2": second})
    result = measure_drain("range", logs, work_ms=100)
    assert (result["duplicates"], result["double_owned"], result["drain"]) == (5, 1, 6.0)
    assert result["lag"]["total"][-1] == 0


def test_run_that_never_began_is_refused() -> None:
    logs = uneven_backlog()
    driver = [entry for entry in logs.driver if entry.event != "go"]
    with pytest.raises(KafkaAssignorsError, match="no 'go' in its log: it was not finished"):
        measure_drain("range", dataclasses.replace(logs, driver=driver), work_ms=100)
