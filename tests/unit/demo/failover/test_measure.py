"""The cost of each event, from logs made by hand."""

from __future__ import annotations

import dataclasses

from demo.failover.measure import measure_events, measure_failover
from tests.unit.demo.failover.story import by_time, restored, state, two_acts

FIGURES = (
    "still_max still_p50 usual in_all moved changelog waited session_timeout balanced rebalances probing"
)


def test_figures_of_each_event() -> None:
    """Cold, all of a changelog is waited for; warm, only its end.

    Warm, a probe that changed nothing comes after the join's last change.
    """
    events = [dict(event) for event in measure_events(two_acts(), 6.0)]
    assert {
        f"{event['act']} {event['kind']} {event['member']}": [event[figure] for figure in FIGURES.split()]
        for event in events
    } == {
        "cold join m3": [2.6, 1.7, 0.5, 1.2, 1, 100, 105, 0.0, 3.0, 2, 0],
        "cold kill m3": [8.5, 4.5, 0.5, 4.0, 1, 120, 125, 6.0, 8.0, 1, 0],
        "warm join m3": [0.8, 0.65, 0.5, 0.15, 1, 200, 3, 0.0, 2.7, 3, 2],
        "warm kill m3": [6.8, 3.65, 1.65, 2.0, 1, 220, 7, 6.0, 6.5, 1, 0],
    }
    assert [event["fault"] for event in events] == ["", "", "", "not settled within 10 s"]


def test_figures_of_each_task() -> None:
    join, kill, *_ = measure_events(two_acts(), 6.0)
    assert [(task["moved"], task["still"], task["in_all"]) for task in join["tasks"]] == [
        (True, 2.6, 2.1),
        (False, 0.8, 0.3),
    ]
    assert kill["tasks"][0]["still"] == 8.5  # 22.9 to 31.4 s; at 31.2 and 31.3 s m2 repeats records of m3


def test_repeated_records_and_the_changelog_are_counted() -> None:
    result = measure_failover(two_acts(), 6.0, 100, {0: 220, 1: 95}, 2_000)
    assert (result["counts"]["again"], result["changelog"]) == (2, 315)


def test_records_restored_after_the_task_was_ready_were_not_waited_for() -> None:
    logs = two_acts()
    m3 = by_time(logs.members["cold/m3"], restored(17, 0, 300), state(18, 0, generation=3))
    logs = dataclasses.replace(logs, members={**logs.members, "cold/m3": m3})
    assert measure_events(logs, 6.0)[0]["waited"] == 105


def test_task_without_a_record_afterwards_stood_still_until_the_end_of_the_wait() -> None:
    logs = two_acts()
    m2 = [e for e in logs.members["cold/m2"] if e.event != "done" or e.partitions != (0,)]
    logs = dataclasses.replace(logs, members={"cold/m2": m2, "cold/m3": logs.members["cold/m3"]})
    [_, kill, *_] = measure_events(logs, 6.0)
    assert kill["tasks"][0]["still"] == 10.1  # from 22.9 to 33 s
    assert not kill["tasks"][0]["moved"]


def test_event_without_an_end_is_left_out() -> None:
    logs = two_acts()
    assert len(measure_events(dataclasses.replace(logs, driver=logs.driver[:-2]), 6.0)) == 3
