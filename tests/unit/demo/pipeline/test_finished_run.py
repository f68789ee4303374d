"""A finished run as the pipeline takes it: its steps, end offsets and churn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_entry

from kafka_assignors.simulation import ChurnStep
from tests.unit.demo.pipeline.runs import EPOCH_S, finished_run
from tests.unit.demo.story import at

#: It begins at 10 s, all is sent at 12 s, and drained at 20 s.
REPLAY = finished_run("replay")


@pytest.mark.parametrize(("step_s", "begin"), [(0.5, 9.5), (1.0, 9), (4.0, 4)])
def test_steps_reach_from_before_the_work_to_its_end(step_s: float, begin: float) -> None:
    assert REPLAY.span(step_s) == (EPOCH_S + begin, EPOCH_S + 20)
    assert REPLAY.steps(step_s)[-1] * step_s == EPOCH_S + 20


def test_step_with_the_last_arrival_is_the_last_one_of_a_drain_within_it() -> None:
    sent = [entry for entry in REPLAY.logs.driver if entry.event == "sent"]
    late = replace_entry(sent[-1], t=sent[-1].t + 100_000_000)
    driver = [at(10, "replay"), *sent[:-1], late, at(12.2, "end")]
    short = finished_run("replay", logs=replace(REPLAY.logs, driver=driver))
    assert short.span(1.0)[1] == EPOCH_S + 13


def test_end_offsets_grow_as_records_were_sent() -> None:
    samples = [sample for sample in REPLAY.ends(1.0) if sample.partition == 1]
    assert [sample.at / 1e6 - EPOCH_S for sample in samples] == list(range(9, 21))
    assert [sample.end for sample in samples] == [0, 0, 10, *[20] * 9]
    assert [sample.fresh for sample in samples] == [True, *[False] * 11]


def test_first_sample_has_the_backlog_of_each_partition_also_of_an_empty_one() -> None:
    run = finished_run(logs=replace(finished_run().logs, partitions=4))
    first = [sample for sample in run.ends(0.5) if sample.fresh]
    assert [(sample.partition, sample.end) for sample in first] == [(0, 30), (1, 10), (2, 10), (3, 0)]
    assert {sample.at / 1e6 - EPOCH_S for sample in first} == {9.5}


def test_churn_counts_from_the_begin_of_the_history() -> None:
    """A member joins at 13 s."""
    assert REPLAY.churn(EPOCH_S + 9.5) == (ChurnStep("join", 3.5),)
    assert finished_run().churn(EPOCH_S) == ()
