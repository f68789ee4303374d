"""What each event cost, from logs made by hand."""

from __future__ import annotations

import dataclasses

import pytest

from demo.failover.measure import measure_events, measure_failover
from demo.failover.results import EventResult
from demo.failover.timeline import events_of
from kafka_assignors.errors import KafkaAssignorsError
from tests.unit.demo.failover.story import by_time, restored, state, two_acts

Events = dict[tuple[str, str], EventResult]


@pytest.fixture
def events() -> Events:
    return {(one["act"], one["kind"]): one for one in measure_events(two_acts(), 6.0)}


def test_every_event_of_both_acts_is_measured_in_order(events: Events) -> None:
    assert list(events) == [("cold", "join"), ("cold", "kill"), ("warm", "join"), ("warm", "kill")]
    assert {one["member"] for one in events.values()} == {"m3"}


def test_a_task_stands_still_from_its_old_owners_last_record_to_its_new_ones_first(events: Events) -> None:
    join = events["cold", "join"]
    assert [task["still"] for task in join["tasks"]] == [2.6, 0.8]
    assert (join["still_max"], join["still_p50"]) == (2.6, 1.7)
    assert [task["in_all"] for task in join["tasks"]] == [2.1, 0.3]  # it usually takes 0.5 s
    assert join["in_all"] == 1.2


def test_a_record_that_is_done_again_is_no_progress(events: Events) -> None:
    moved = events["cold", "kill"]["tasks"][0]
    assert moved["still"] == 8.5  # 22.9 to 31.4 s; at 31.2 and 31.3 s it did what m3 had done
    result = measure_failover(two_acts(), 6.0, 100, {0: 220, 1: 95}, 2_000)
    assert (result["counts"]["again"], result["changelog"]) == (2, 315)


def test_usual_rate_is_that_of_the_seconds_before(events: Events) -> None:
    assert [task["usual"] for task in events["cold", "join"]["tasks"]] == [0.5, 0.5]
    assert events["cold", "join"]["usual"] == 0.5
    assert events["warm", "kill"]["tasks"][0]["usual"] == 2.8


def test_only_tasks_with_another_owner_have_moved(events: Events) -> None:
    for one in events.values():
        assert [task["moved"] for task in one["tasks"]] == [True, False]
        assert one["moved"] == 1


def test_figures_of_each_event(events: Events) -> None:
    """Cold, all of a changelog is waited for; warm, only its end."""
    assert {
        name: (e["waited"], e["changelog"], e["session_timeout"], e["rebalances"], e["probing"], e["fault"])
        for name, e in events.items()
    } == {
        ("cold", "join"): (105, 100, 0.0, 2, 0, ""),
        ("cold", "kill"): (125, 120, 6.0, 1, 0, ""),
        ("warm", "join"): (3, 200, 0.0, 3, 2, ""),
        ("warm", "kill"): (7, 220, 6.0, 1, 0, "not settled within 10 s"),
    }


def test_records_restored_after_the_task_was_ready_were_not_waited_for() -> None:
    logs = two_acts()
    m3 = by_time(logs.members["cold/m3"], restored(17, 0, 300), state(18, 0, generation=3))
    logs = dataclasses.replace(logs, members={**logs.members, "cold/m3": m3})
    assert measure_events(logs, 6.0)[0]["waited"] == 105


def test_group_is_balanced_after_its_last_change(events: Events) -> None:
    assert events["cold", "join"]["balanced"] == 3.0  # m3 is ready at 16 s
    assert events["cold", "kill"]["balanced"] == 8.0
    assert events["warm", "join"]["balanced"] == 2.7  # a probe that changed nothing came later


def test_a_task_without_a_record_afterwards_stood_still_until_the_end_of_the_wait() -> None:
    logs = two_acts()
    m2 = [e for e in logs.members["cold/m2"] if e.event != "done" or e.partitions != (0,)]
    logs = dataclasses.replace(logs, members={"cold/m2": m2, "cold/m3": logs.members["cold/m3"]})
    [_, kill, *_] = measure_events(logs, 6.0)
    assert kill["tasks"][0]["still"] == 10.1  # from 22.9 to 33 s
    assert not kill["tasks"][0]["moved"]


def test_event_without_an_end_is_left_out() -> None:
    logs = two_acts()
    assert len(events_of(dataclasses.replace(logs, driver=logs.driver[:-2]))) == 3


def test_unfinished_scene_has_a_fault() -> None:
    with pytest.raises(KafkaAssignorsError, match="no 'end' in its log: it was not finished"):
        dataclasses.replace(two_acts(), driver=[]).driver_entry("end")
