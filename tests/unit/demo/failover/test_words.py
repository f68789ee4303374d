"""The sentences and rows made of the failover's numbers."""

from __future__ import annotations

import pytest

from demo.failover.results import FailoverResult
from demo.failover.words import ROWS, counted, event_name, verdict
from tests.unit.demo.failover.story import failover


@pytest.fixture
def result() -> FailoverResult:
    return failover()


def set_still(result: FailoverResult, kind: str, *, warm: float, cold: float) -> None:
    for event in result["events"]:
        if event["kind"] == kind:
            event["still_max"] = warm if event["act"] == "warm" else cold


def test_verdict_has_the_measured_times(result: FailoverResult) -> None:
    set_still(result, "join", warm=0.5, cold=4.0)
    set_still(result, "kill", warm=6.5, cold=9.0)
    assert verdict(result) == (
        "One joins: the longest that a task stood still is 0.50 s with warm-ups, and 4.00 s when state is "
        "restored cold (8.0 times as long). Beyond the usual, a task lost 0.15 s and 1.20 s on "
        "average. One is killed with -9: the longest that a task stood still is "
        "6.50 s with standbys, and 9.00 s when state is restored cold (6.0 times as long without the session "
        "timeout). Both include up to 6 s of session timeout, in which the broker waits. "
        "Beyond the usual, a task lost 2.00 s and 4.00 s on average."
    )


def test_kill_noticed_before_its_timeout_is_not_compared(result: FailoverResult) -> None:
    set_still(result, "kill", warm=5.9, cold=8.0)
    assert "8.00 s when state is restored cold. Both include up to 6 s" in verdict(result)


def test_verdict_leaves_out_acts_that_never_ran(result: FailoverResult) -> None:
    del result["events"][2:]
    assert verdict(result) == ""


def test_counts_are_right_or_the_first_difference_is_named(result: FailoverResult) -> None:
    assert counted(result) == (
        "The counts of all 5 lines equal the topic's 121 records. 2 records were counted twice, and "
        "recognised key by key. A killed member had written them to the changelog, and not committed. 2 "
        "records were processed again after the kills."
    )
    counts = result["counts"]
    counts["doubles"] = 0
    assert counted(result).endswith(
        "records. Nothing was counted twice: 2 records were processed again after the kills, but had not "
        "reached the changelog before."
    )
    counts["again"] = 0
    assert counted(result).endswith("records. Nothing was counted twice.")
    counts["differences"] = ["line AA ORD: 5 counted, 6 in the topic"]
    assert counted(result) == "The counts are wrong in 1 place: line AA ORD: 5 counted, 6 in the topic."


def test_rows_and_names_of_the_events(result: FailoverResult) -> None:
    shown = {row.label: [row.show(event) for event in result["events"]] for row in ROWS}
    assert shown["waited for"] == ["105", "125", "3", "7"]
    assert shown["rebalances"] == ["2", "1", "3 (2 probing)", "1"]
    names = ["m3 joins, cold", "kill -9 m3, cold", "m3 joins, warm", "kill -9 m3, warm"]
    assert [event_name(event) for event in result["events"]] == names
