from __future__ import annotations

import dataclasses

import pytest

from demo.figures.drain import least_largest, measure_drain
from demo.results import DrainResult
from kafka_assignors.errors import KafkaAssignorsError
from tests.unit.demo.story import at, done, uneven_backlog


@pytest.fixture
def result() -> DrainResult:
    return measure_drain("range", uneven_backlog(), work_ms=100)


@pytest.mark.parametrize(
    ("records", "heaviest", "members", "least"),
    [(100, 10, 4, 25), (101, 10, 4, 26), (100, 40, 4, 40), (100, 100, 1, 100), (0, 0, 3, 0)],
)
def test_bound_is_the_mean_load_or_the_heaviest_partition(
    records: int, heaviest: int, members: int, least: int
) -> None:
    assert least_largest(records, heaviest, members) == least


def test_drain_lasts_from_the_start_signal_to_the_last_record(result: DrainResult) -> None:
    assert result["drain"] == 6.0
    assert (result["least_largest"], result["bound"], result["ratio"]) == (30, 3.0, 2.0)
    assert (result["produced"], result["processed"], result["lost"], result["duplicates"]) == (50, 50, 0, 0)
    assert (result["double_owned"], result["owned_at_end"], result["fault"]) == (0, 3, "")


def test_loads_are_taken_at_the_start_signal(result: DrainResult) -> None:
    assert result["largest_load"] == 40
    assert {name: lags[0] for name, lags in result["lag"]["members"].items()} == {"m1": 40, "m2": 10}
    assert result["first_idle"] == 5.0  # m1 finishes at 5 s, m2 at 6 s


def test_assignments_before_the_start_signal_are_no_moves(result: DrainResult) -> None:
    assert (result["moved"], result["rebalances"]) == (1, 1)


def test_largest_lag_follows_the_member_with_the_most_lag(result: DrainResult) -> None:
    lag = result["lag"]
    assert lag["t"][0] == 0.0
    assert result["largest"][0] == lag["members"]["m1"][0] == 40
    place = lag["t"].index(3.0)  # m1 has 10 of partition 0 left, m2 has just taken over 10
    assert (lag["members"]["m1"][place], lag["members"]["m2"][place]) == (10, 10)
    assert result["largest"][place] == 10
    assert result["largest"][-1] == lag["total"][-1] == 0


def test_member_without_work_is_idle_from_the_start_signal() -> None:
    logs = uneven_backlog()
    result = measure_drain("range", dataclasses.replace(logs, consumers=3), work_ms=100)
    assert result["first_idle"] == 0.0


def test_records_that_cost_nothing_have_no_bound_to_compare_with() -> None:
    result = measure_drain("range", uneven_backlog(), work_ms=0)
    assert (result["bound"], result["ratio"]) == (0.0, None)


def test_unfinished_backlog_is_measured_and_has_a_fault() -> None:
    logs = uneven_backlog()
    driver = [*logs.driver[:-1], at(14, "end", note="not drained within 4 s")]
    result = measure_drain("range", dataclasses.replace(logs, driver=driver), work_ms=100)
    assert result["fault"] == "not drained within 4 s"
    assert (result["processed"], result["lost"]) == (30, 20)


def test_a_record_done_by_two_members_is_a_duplicate_and_two_owners_are_counted() -> None:
    logs = uneven_backlog()
    second = [*logs.members["m2"], at(14, "assigned", 0), done(14, 15, 0, 25, 29)]
    both = dataclasses.replace(logs, members=dict(logs.members) | {"m2": second})
    result = measure_drain("range", both, work_ms=100)
    assert (result["duplicates"], result["double_owned"]) == (5, 1)


def test_a_run_that_never_began_is_refused() -> None:
    logs = uneven_backlog()
    driver = [entry for entry in logs.driver if entry.event != "go"]
    with pytest.raises(KafkaAssignorsError, match="'go'"):
        measure_drain("range", dataclasses.replace(logs, driver=driver), work_ms=100)
