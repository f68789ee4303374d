"""A run as the pipeline sees it: which steps it has, where its logs ended in each, what happened to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_entry

from demo.pipeline.finished_run import EndSample
from kafka_assignors.simulation import ChurnStep
from tests.unit.demo.pipeline.runs import EPOCH_S, finished_run
from tests.unit.demo.story import at

#: of the replay: it begins at 10 s, all is sent at 12 s, and drained at 20 s.
REPLAY = finished_run("replay")


def in_seconds(look: EndSample) -> float:
    return look.at / 1e6 - EPOCH_S


@pytest.mark.parametrize("step_s", [0.5, 1.0, 4.0])
def test_steps_reach_from_before_the_work_to_its_end(step_s: float) -> None:
    begin, end = (at - EPOCH_S for at in REPLAY.span(step_s))
    assert begin == {0.5: 9.5, 1.0: 9, 4.0: 4}[step_s]
    assert end == 20
    steps = REPLAY.steps(step_s)
    assert (steps[0] - 1) * step_s == begin + EPOCH_S
    assert steps[-1] * step_s == end + EPOCH_S


def test_the_step_in_which_the_last_record_came_is_there_though_all_was_drained_in_it() -> None:
    """The last records are sent at 12 s; had the end come then, a step up to there would not do."""
    logs = REPLAY.logs
    driver = [entry for entry in logs.driver if entry.event == "sent"]
    driver = [at(10, "replay"), *driver, at(12.2, "end")]
    late = replace_entry(driver[-2], t=driver[-2].t + 100_000_000)
    short = finished_run("replay", logs=replace(logs, driver=[*driver[:-2], late, driver[-1]]))
    assert short.span(1.0)[1] - EPOCH_S == 13


def test_the_ends_of_the_logs_grow_as_records_were_sent() -> None:
    looks = [look for look in REPLAY.ends(1.0) if look.partition == 1]
    ends = {in_seconds(look): look.end for look in looks}
    assert [ends[at] for at in (9, 10, 11, 12, 20)] == [0, 0, 10, 20, 20]
    assert sorted(ends) == list(range(9, 21))
    assert [look.fresh for look in looks] == [True, *[False] * 11]


def test_backlog_at_the_start_is_in_the_first_sample() -> None:
    first = {look.partition: look for look in finished_run().ends(0.5) if look.fresh}
    assert {partition: look.end for partition, look in first.items()} == {0: 30, 1: 10, 2: 10}
    assert {in_seconds(look) for look in first.values()} == {9.5}


def test_empty_partition_is_sampled() -> None:
    wider = finished_run(logs=replace(finished_run().logs, partitions=4))
    assert {look.end for look in wider.ends(1.0) if look.partition == 3} == {0}


def test_the_churn_counts_from_where_the_history_begins() -> None:
    """A member joins at 13 s."""
    assert REPLAY.churn(EPOCH_S + 9.5) == (ChurnStep("join", 3.5),)
    assert finished_run().churn(EPOCH_S) == ()
