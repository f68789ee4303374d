"""The stages of a pipeline that runs once, and the loop of one that goes on, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
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


@pytest.mark.parametrize(
    ("step_s", "restarts"),
    [(-3600.0, ["the clock was set back by 3,600 s"]), (-0.1, []), (3600.0, [])],
)
def test_streams_are_restarted_once_after_the_clock_was_set_back(
    monkeypatch: pytest.MonkeyPatch, step_s: float, restarts: list[str]
) -> None:
    """Spark waits for the next batch by this clock, so the wait would last as long as the step."""
    now_s = 0.0

    def wait(seconds: float) -> bool:
        nonlocal now_s
        now_s += seconds
        return now_s > 10

    clock = SimpleNamespace(
        monotonic=lambda: now_s, time=lambda: 1e9 + now_s + (step_s if now_s > 2 else 0.0)
    )
    monkeypatch.setattr(run, "time", clock)
    restarted: list[str] = []
    stream = SimpleNamespace(restart=restarted.append, check=lambda: None, report=lambda: None, down=None)
    streams, maintenance = {"samples": stream}, SimpleNamespace(check=lambda: None, down=None)
    stop = SimpleNamespace(wait=wait)
    run._run(
        cast(Any, streams),
        PipelineReport(),
        cast(Any, stop),
        lambda _: None,
        maintenance=cast(Any, maintenance),
    )
    assert restarted == restarts
