"""The stages of a pipeline that runs once, without Spark."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline import run
from kafka_assignors.pipeline.run import PipelineOptions, PipelineReport, run_pipeline


def test_failed_maintenance_does_not_fail_a_run_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def maintain(*_: object, **__: object) -> bool:
        raise PipelineError("a file is gone")

    monkeypatch.setattr(run, "maintain", maintain)
    options = PipelineOptions("root", {}, sampler=False, offsets_topic=False)
    reports: list[PipelineReport] = []
    report = run_pipeline(cast(Any, None), options, stop=None, on_report=reports.append)
    assert (reports, report.down) == ([report], {"maintenance": "a file is gone"})
    assert caplog.messages == ["a file is gone; the next run tries again"]
