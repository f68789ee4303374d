"""The results of one replay, from logs made by hand."""

from __future__ import annotations

import dataclasses

from demo.figures.measure import measure
from demo.group.logs import RunLogs
from tests.unit.demo.story import at, eager_join


def test_figures_of_an_eager_join() -> None:
    """Partition 0 idled from 1.5 s on, but its next record came at 2 s; partition 1 pays the warm-up."""
    result = dict(measure("range", eager_join()))
    lag, holds = result.pop("lag"), result.pop("holds")
    assert result == {
        "strategy": "range",
        "produced": 40,
        "processed": 40,
        "lost": 0,
        "duplicates": 1,
        "moved": 1,
        "least_moves": 1,
        "rebalances": 1,
        "paused": 2,
        "pausable": 2,
        "pause_total": 2.6,
        "pause_p50": 1.3,
        "pause_max": 1.6,
        "drain": 3.0,
        "end": 10.0,
        "peak_lag": 30,
        "lateness": 0.0125,
        "fault": "",
        "double_owned": 0,
        "owned_at_end": 2,
        "steps": [
            {
                "kind": "join",
                "member": "m2",
                "at": 3.0,
                "settled": 0.5,
                "rebalances": 1,
                "moved": 1,
                "least_moves": 1,
                "paused": 2,
                "pause_total": 2.6,
                "pause_p50": 1.3,
                "pause_max": 1.6,
            }
        ],
        "waits": [
            {"step": 0, "partition": 0, "member": "m1", "start": 2.0, "end": 3.6},
            {"step": 0, "partition": 1, "member": "m2", "start": 3.0, "end": 4.0},
        ],
        "openings": [{"member": "m2", "partition": 1, "start": 3.5, "end": 3.9}],
    }
    assert holds == [
        {"member": "m1", "partition": 0, "start": -8.0, "end": 3.1},
        {"member": "m1", "partition": 0, "start": 3.5, "end": 10.0},
        {"member": "m1", "partition": 1, "start": -8.0, "end": 3.1},
        {"member": "m2", "partition": 1, "start": 3.5, "end": 10.0},
    ]
    assert isinstance(lag, dict)
    place = lag["t"].index(3.25)
    assert (lag["total"][place], lag["unowned"][place], lag["total"][-1]) == (20, 20, 0)


def test_unfinished_replay_is_measured_and_has_a_fault() -> None:
    logs = eager_join()
    driver = [*logs.driver[:-1], at(14, "end", note="not drained within 1 s")]
    result = measure("range", dataclasses.replace(logs, driver=driver))
    assert (result["fault"], result["processed"], result["lost"]) == ("not drained within 1 s", 20, 20)


def test_partition_that_comes_back_is_two_moves() -> None:
    logs = eager_join()
    first = [*logs.members["m1"][:-1], at(16, "assigned", 1)]
    second = [*logs.members["m2"], at(16, "revoked", 1)]
    result = measure("range", dataclasses.replace(logs, members={"m1": first, "m2": second}))
    assert (result["moved"], result["least_moves"]) == (2, 1)


def test_moves_of_a_kill_that_is_not_noticed_before_a_join_count_once() -> None:
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
    assert [step["settled"] for step in result["steps"]] == [None, 2.0]
    assert result["moved"] == 2


def test_replay_without_churn_has_no_pauses() -> None:
    logs = eager_join()
    driver = [entry for entry in logs.driver if entry.event != "join"]
    result = measure("range", dataclasses.replace(logs, driver=driver))
    assert (result["pause_p50"], result["pause_max"], result["pausable"]) == (None, None, 0)
