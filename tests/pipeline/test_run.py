"""The stages of a pipeline that runs once, and the loop of one that goes on, without Spark."""

from __future__ import annotations

import bisect
import itertools
import random
import threading
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock, PropertyMock

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline import run
from kafka_assignors.pipeline.model.job import LoadReport
from kafka_assignors.pipeline.record.offsets_report import OffsetsReport
from kafka_assignors.pipeline.run import (
    PipelineOptions,
    PipelineReport,
    forecast_age_s,
    model_every_s,
    run_pipeline,
)
from kafka_assignors.simulation.scenario import FORECAST_DELAY_S


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
    ("step_s", "every_s", "expected_s"), [(60, 10, 60), (900, 10, 60), (1, 3, 3), (5, 1, 5), (60, 600, 600)]
)
def test_model_runs_once_a_step_and_at_least_once_a_minute(
    step_s: float, every_s: float, expected_s: float
) -> None:
    assert model_every_s(LoadSettings(step_s=step_s, horizon_s=900), every_s) == expected_s


@pytest.mark.parametrize(("step_s", "expected_s"), [(60, 60), (900, 60), (5, 10)])
def test_model_of_a_pipeline_has_its_own_interval(
    monkeypatch: pytest.MonkeyPatch, step_s: float, expected_s: float
) -> None:
    intervals: list[float] = []

    def start(*_: object, every_s: float, **__: object) -> Any:
        intervals.append(every_s)
        return SimpleNamespace(query=SimpleNamespace(isActive=True), report=LoadReport, stop=LoadReport)

    monkeypatch.setattr(run, "start_load_model", start)
    load = LoadSettings(step_s=step_s, horizon_s=900)
    options = PipelineOptions("root", {}, every_s=10, load=load, sampler=False, offsets_topic=False)
    stop = threading.Event()
    run_pipeline(cast(Any, None), options, stop=stop, on_report=lambda _: stop.set())
    assert intervals == [expected_s]


def oldest_s(load: LoadSettings, every_s: float, *, looks_s: float = 7_200.0) -> float:
    """Return how old forecasts get before newer ones are published, by playing looks and batches.

    A look is answered within a quarter of a second, and has landed two seconds later.
    """
    chance, batch_s = random.Random(3), model_every_s(load, every_s)
    starts = [number * every_s for number in range(int(max(looks_s, 20 * every_s) / every_s))]
    stamps = [start + chance.uniform(0.05, 0.25) for start in starts]
    published = []
    for step in range(1, int((starts[-1] - load.delay_s - 3 * batch_s - 3 * every_s) / load.step_s)):
        end_of_step = stamps[bisect.bisect(stamps, step * load.step_s)]
        completed = bisect.bisect_left(stamps, end_of_step + load.delay_s)
        published.append((starts[completed] + 2) // batch_s * batch_s + batch_s)
    return max(then - step * load.step_s for step, then in enumerate(published[1:], 1))


@pytest.mark.parametrize("every_s", [1, 5, 7, 10, 13, 20, 60, 600])
def test_forecasts_get_no_older_than_said(every_s: float) -> None:
    for step_s, delay_s in itertools.product((5, 50, 60, 75, 90, 100, 300, 900), (0, 105, 110, 300, 590)):
        load = LoadSettings(step_s=step_s, horizon_s=3_600, delay_s=delay_s)
        assert oldest_s(load, every_s) <= forecast_age_s(load, every_s), load


def test_age_of_forecasts_with_the_defaults() -> None:
    """Back-tests assume the same."""
    load = LoadSettings()
    assert oldest_s(load, 10) == forecast_age_s(load, 10) == load.step_s + FORECAST_DELAY_S == 180


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
    streams, maintenance = {"samples": stream}, SimpleNamespace(down=None)
    stop = SimpleNamespace(wait=wait)
    run._run(
        cast(Any, streams),
        PipelineReport(),
        cast(Any, stop),
        lambda _: None,
        maintenance=cast(Any, maintenance),
    )
    assert restarted == restarts


class SlowRecorder:
    """A recorder of commits whose Python worker starts too slowly, as often as ``slow`` says."""

    def __init__(self, slow: int) -> None:
        self.slow = slow
        self.starts = 0
        self.query = SimpleNamespace(awaitTermination=self._await)

    def __call__(self, *_: object, **__: object) -> SlowRecorder:
        self.starts += 1
        return self

    def _await(self, _: float) -> bool:
        if self.starts <= self.slow:
            raise RuntimeError("Python worker failed to connect back")
        return True

    def report(self) -> OffsetsReport:
        return OffsetsReport(records=int(self.starts > self.slow))

    stop = report


@pytest.mark.parametrize("slow", [0, 6, 7])
def test_existing_commits_are_recorded_again_after_a_slow_worker(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, slow: int
) -> None:
    recorder = SlowRecorder(slow)
    monkeypatch.setattr(run, "record_offsets", recorder)
    monkeypatch.setattr(run, "PAUSES_S", (0.0,) * 6)
    report, stop = PipelineReport(), threading.Event()
    options = PipelineOptions("root", {}, sampler=False, offsets_topic=True)

    def catch_up() -> OffsetsReport:
        return run._catch_up(cast(Any, None), options, report, stop, lambda _: None)

    if slow > 6:
        with pytest.raises(PipelineError, match="a Python worker of Spark did not start within 10 s"):
            catch_up()
    else:
        assert catch_up() == report.offsets == OffsetsReport(records=1)
    assert recorder.starts == min(slow + 1, 7)
    assert len(caplog.messages) == min(slow, 6)


def test_ended_java_is_an_error_of_one_line() -> None:
    def check() -> None:
        raise ConnectionRefusedError(111, "Connection refused")  # as py4j shows it

    streams: Any = {"samples": SimpleNamespace(check=check)}
    unused: Any = None
    with pytest.raises(PipelineError, match="the stream of samples: Spark itself has ended"):
        run._run(streams, PipelineReport(), threading.Event(), unused, maintenance=unused)


def test_ended_java_is_an_error_of_one_line_although_no_stream_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Mock()
    stream.stop.side_effect = ConnectionRefusedError(111, "Connection refused")
    type(stream.query).isActive = PropertyMock(side_effect=stream.stop.side_effect)
    monkeypatch.setattr(run, "start_load_model", Mock(return_value=stream))
    options = PipelineOptions("root", {}, load=LoadSettings(), sampler=False, offsets_topic=False)
    with pytest.raises(PipelineError, match="the stream of load: Spark itself has ended"):
        run_pipeline(cast(Any, None), options, stop=threading.Event(), on_report=lambda _: None)
    stream.stop.assert_called_once_with()
