from __future__ import annotations

import dataclasses

import pytest

from kafka_assignors.demo.measure import measure, quantile
from kafka_assignors.errors import KafkaAssignorsError
from tests.unit.demo.story import eager_join


def test_the_books_of_an_eager_join() -> None:
    result = measure("range", eager_join())
    assert (result["produced"], result["processed"]) == (40, 40)
    assert (result["lost"], result["duplicates"]) == (0, 1)
    assert result["owned_at_end"] == 2
    assert result["double_owned"] == 0


def test_one_partition_moved_in_one_rebalance() -> None:
    result = measure("range", eager_join())
    [step] = result["steps"]
    assert (step["kind"], step["member"], step["at"]) == ("join", "m2", 3.0)
    assert (step["moved"], step["least_moves"], step["rebalances"]) == (1, 1, 1)
    assert step["settled"] == 0.5
    assert result["handovers"] == [{"t": 3.5, "partition": 1, "giver": "m1", "taker": "m2"}]


def test_a_pause_lasts_from_the_last_record_before_to_the_first_after() -> None:
    """Partition 0 idled from 1.5 s on, but its next record came at 2 s; partition 1 pays the warm-up."""
    result = measure("range", eager_join())
    assert result["pauses"] == [
        {"step": 0, "partition": 0, "moved": False, "seconds": 1.6},
        {"step": 0, "partition": 1, "moved": True, "seconds": 1.0},
    ]
    assert (result["pause_p50"], result["pause_max"]) == (1.3, 1.6)
    assert [(w["start"], w["end"], w["member"]) for w in result["waits"]] == [
        (2.0, 3.6, "m1"),
        (3.0, 4.0, "m2"),
    ]


def test_the_backlog_is_drained_from_the_last_record_sent() -> None:
    result = measure("range", eager_join())
    assert result["drain"] == 3.0
    assert result["end"] == 10.0
    assert result["throughput"] == 8.0
    assert result["peak_lag"] == 30
    assert result["lag"]["total"][-1] == 0


def test_members_lives() -> None:
    result = measure("range", eager_join())
    assert [(m["name"], m["pid"], m["how"], m["processed"]) for m in result["members"]] == [
        ("m1", 100, "end", 30),
        ("m2", 200, "end", 11),
    ]
    assert result["openings"] == [{"member": "m2", "partition": 1, "start": 3.5, "end": 3.9}]


def test_a_run_without_its_end_is_refused() -> None:
    logs = eager_join()
    with pytest.raises(KafkaAssignorsError, match="'end'"):
        measure("range", dataclasses.replace(logs, driver=logs.driver[:-1]))


def test_quantiles_are_interpolated() -> None:
    assert quantile([], 0.5) == 0
    assert quantile([4, 1], 0.5) == 2.5
    assert quantile([1, 2, 3], 1.0) == 3
