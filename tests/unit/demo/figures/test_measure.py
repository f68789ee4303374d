from __future__ import annotations

import dataclasses

import pytest

from demo.figures.measure import measure
from demo.group.logs import RunLogs
from demo.results import StrategyResult
from kafka_assignors.errors import KafkaAssignorsError
from tests.unit.demo.story import at, eager_join


@pytest.fixture
def result() -> StrategyResult:
    return measure("range", eager_join())


def test_figures_of_an_eager_join(result: StrategyResult) -> None:
    assert (result["produced"], result["processed"]) == (40, 40)
    assert (result["lost"], result["duplicates"]) == (0, 1)
    assert result["owned_at_end"] == 2
    assert result["double_owned"] == 0


def test_one_partition_moved_in_one_rebalance(result: StrategyResult) -> None:
    [step] = result["steps"]
    assert (step["kind"], step["member"], step["at"]) == ("join", "m2", 3.0)
    assert (step["moved"], step["least_moves"], step["rebalances"]) == (1, 1, 1)
    assert step["settled"] == 0.5


def test_a_pause_lasts_from_the_last_record_before_to_the_first_after(result: StrategyResult) -> None:
    """Partition 0 idled from 1.5 s on, but its next record came at 2 s; partition 1 pays the warm-up."""
    assert (result["pause_p50"], result["pause_max"], result["pause_total"]) == (1.3, 1.6, 2.6)
    assert (result["paused"], result["pausable"]) == (2, 2)
    assert result["waits"] == [
        {"step": 0, "partition": 0, "member": "m1", "start": 2.0, "end": 3.6},
        {"step": 0, "partition": 1, "member": "m2", "start": 3.0, "end": 4.0},
    ]


def test_the_backlog_is_drained_from_the_last_record_sent(result: StrategyResult) -> None:
    assert result["drain"] == 3.0
    assert result["end"] == 10.0
    assert result["peak_lag"] == 30
    assert result["lag"]["total"][-1] == 0


def test_warm_ups_and_lateness_are_kept(result: StrategyResult) -> None:
    assert result["openings"] == [{"member": "m2", "partition": 1, "start": 3.5, "end": 3.9}]
    assert result["lateness"] == 0.0125


def test_run_that_did_not_drain_is_measured_and_has_a_fault() -> None:
    logs = eager_join()
    driver = [*logs.driver[:-1], at(14, "end", note="not drained within 1 s")]
    result = measure("range", dataclasses.replace(logs, driver=driver))
    assert result["fault"] == "not drained within 1 s"
    assert (result["processed"], result["lost"]) == (20, 20)


def test_partition_that_comes_back_is_two_moves() -> None:
    logs = eager_join()
    first = [*logs.members["m1"][:-1], at(16, "assigned", 1)]
    second = [*logs.members["m2"], at(16, "revoked", 1)]
    result = measure("range", dataclasses.replace(logs, members={"m1": first, "m2": second}))
    assert (result["moved"], result["least_moves"]) == (2, 1)
    assert [step["moved"] for step in result["steps"]] == [2]


def test_least_moves_of_a_step_exclude_those_of_an_earlier_kill() -> None:
    """Member m1 is killed, and m3 joins before the group has noticed: m1's two partitions move once."""
    driver = [
        at(10, "replay"),
        at(13, "kill", note="m1"),
        at(14, "join", note="m3"),
        at(19, "sent_all", note="0"),
        at(20, "end"),
    ]
    members = {
        "m1": [at(2, "assigned", 0, 1)],
        "m2": [at(2, "assigned", 2, 3), at(2, "joined", 2, 3, generation=1)],
        "m3": [at(16, "assigned", 0, 1), at(16, "joined", 0, 1, generation=2)],
    }
    result = measure("range", RunLogs(partitions=4, consumers=2, driver=driver, members=members))
    assert [step["least_moves"] for step in result["steps"]] == [2, 0]
    assert result["moved"] == 2


def test_without_a_pause_there_is_no_median() -> None:
    logs = eager_join()
    driver = [entry for entry in logs.driver if entry.event != "join"]
    result = measure("range", dataclasses.replace(logs, driver=driver))
    assert (result["pause_p50"], result["pause_max"]) == (None, None)
    assert (result["paused"], result["pausable"], result["pause_total"]) == (0, 0, 0)


def test_a_run_without_its_end_is_refused() -> None:
    logs = eager_join()
    with pytest.raises(KafkaAssignorsError, match="'end'"):
        measure("range", dataclasses.replace(logs, driver=logs.driver[:-1]))
