"""What the pipeline has to have recorded, by what was measured."""

from __future__ import annotations

from demo.figures.drain import measure_drain
from demo.pipeline.results import pipeline_faults
from demo.results import DrainResult
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import uneven_backlog


def runs(**changes: object) -> dict[tuple[str, str], DrainResult]:
    measured = measure_drain("range", uneven_backlog(), work_ms=100)
    measured.update(changes)  # type: ignore[typeddict-item]  # a test's own changes
    return {("backlog", "range"): measured}


def test_nothing_is_wrong_with_what_was_recorded_whole() -> None:
    assert pipeline_faults(pipeline(), runs()) == []


def test_what_stopped_it_is_a_fault() -> None:
    result = pipeline() | {"fault": "record: nobody answers"}
    assert pipeline_faults(result, runs()) == ["the pipeline: record: nobody answers"]


def test_records_it_does_not_know_of_are_a_fault() -> None:
    result = pipeline()
    result["recorded"][0] |= {"produced": 48, "committed": 49, "arrived": 47}
    assert pipeline_faults(result, runs()) == [
        "the pipeline, backlog of range: 48 of 50 records recorded",
        "the pipeline, backlog of range: 49 of 50 records committed",
        "the pipeline, backlog of range: 47 of 50 records in the load model",
    ]


def test_who_was_not_drained_in_time_need_not_have_committed_all() -> None:
    result = pipeline()
    result["recorded"][0]["committed"] = 49
    assert pipeline_faults(result, runs(fault="not drained within 1 s")) == []


def test_scenarios_that_fail_are_a_fault() -> None:
    result = pipeline()
    assert result["backtest"] is not None
    result["backtest"]["failures"] = ["1 of 9: no such thing"]
    assert pipeline_faults(result, runs()) == ["the pipeline, back-test: 1 of 9: no such thing"]
