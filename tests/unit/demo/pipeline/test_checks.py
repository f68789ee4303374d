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


def test_complete_recording_has_no_fault() -> None:
    assert pipeline_faults(pipeline(), runs()) == []


def test_reason_of_an_early_end_is_a_fault() -> None:
    result = pipeline() | {"fault": "record: nobody answers"}
    assert pipeline_faults(result, runs()) == ["the pipeline: record: nobody answers"]


def test_unrecorded_records_are_a_fault() -> None:
    result = pipeline()
    result["recorded"][0] |= {"produced": 48, "committed": 49, "arrived": 47}
    assert pipeline_faults(result, runs()) == [
        "the pipeline, backlog of range: 48 of 50 records recorded",
        "the pipeline, backlog of range: 49 of 50 records committed",
        "the pipeline, backlog of range: 47 of 50 records in the load model",
    ]


def test_unfinished_run_may_have_uncommitted_records() -> None:
    result = pipeline()
    result["recorded"][0]["committed"] = 49
    assert pipeline_faults(result, runs(fault="not drained within 1 s")) == []


def test_scenarios_that_fail_are_a_fault() -> None:
    result = pipeline()
    assert result["backtest"] is not None
    result["backtest"]["failures"] = ["1 of 9: no such thing"]
    assert pipeline_faults(result, runs()) == ["the pipeline, back-test: 1 of 9: no such thing"]
