"""The pipeline, step by step: record, model the load, try strategies out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.record import counts, record_commits, record_ends
from demo.pipeline.results import PipelineResult
from demo.pipeline.trials import list_trials
from demo.results import SettingsResult
from demo.view.live import Picture
from kafka_assignors.broker import Progress
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.backtest.files import SERIES_NAME, read_series, results_folder, save_results
from kafka_assignors.pipeline.backtest.job import TrialResult, run_trials
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.results import RunResult
from kafka_assignors.pipeline.backtest.summary import summed_up
from kafka_assignors.pipeline.history import read_history
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TITLE = "the pipeline"
STEPS = ("start Spark", "record", "model the load", "back-test")
STEP_S = 0.5
"""Step of the load model: members commit several times a second, and a scene takes about a minute."""

HORIZON_S = 10.0
"""Horizon of the load model's forecast: about as long as members take to work off a backlog."""

_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java options that reduce the time for compiling, because the session ends within minutes."""


def run_pipeline(
    runs: Sequence[FinishedRun],
    settings: SettingsResult,
    bootstrap: str,
    *,
    folder: Path,
    show: Callable[[Picture], None],
) -> PipelineResult:
    """Run all steps in ``folder``; takes about 30 s on two cores.

    Never raises: a failure is the result's ``fault``, beside the results of the finished steps.
    """
    result = PipelineResult(
        fault="",
        notes=[],
        seconds={},
        step_s=STEP_S,
        read=0,
        recorded=[],
        backtest=None,
    )
    job = _Job(result, show)
    try:
        job.run(runs, settings, bootstrap, folder)
    except KafkaAssignorsError as error:
        result["fault"] = f"{STEPS[job.now]}: {error}"
    except Exception as error:  # of Spark or ours; the results of the scenes must not be lost with it
        line = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        result["fault"] = f"{STEPS[job.now]}: {line}"
    else:
        show(Picture(TITLE, STEPS, len(STEPS)))
    return result


class _Job:
    def __init__(self, result: PipelineResult, show: Callable[[Picture], None]) -> None:
        self.result, self._show, self.now = result, show, 0
        self._started, self._began = datetime.now(timezone.utc), time.monotonic()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """Show a step, and keep its seconds."""
        self.now = STEPS.index(name)
        began = time.monotonic()
        self._show_state()
        yield
        self.result["seconds"][name] = round(time.monotonic() - began, 3)

    def _show_state(self, state: str = "", done: int = 0, total: int | None = None) -> None:
        self._show(Picture(TITLE, STEPS, self.now, state, done, total))

    def _show_progress(self, progress: Progress) -> None:
        self._show_state(progress.step, progress.done, progress.total)

    def run(
        self,
        runs: Sequence[FinishedRun],
        settings: SettingsResult,
        bootstrap: str,
        folder: Path,
    ) -> None:
        result, root = self.result, str(folder.absolute())
        self._show_state()
        with local_session(
            "demo",
            java_options=_SHORT_LIVED,
            settings={"spark.log.level": "FATAL"},
            on_progress=self._show_progress,
        ) as spark:
            result["seconds"][STEPS[0]] = round(time.monotonic() - self._began, 3)
            with self._step("record"):
                self._show_state("ends of the logs")
                record_ends(spark, root, runs, STEP_S)
                self._show_state("commits, from the broker's own topic")
                result["read"], result["notes"] = record_commits(spark, bootstrap, root, runs)
            with self._step("model the load"):
                model = LoadSettings(step_s=STEP_S, horizon_s=HORIZON_S, delay_s=0.0)
                run_load_model(spark, root, model, available_now=True)
                result["recorded"] = counts(spark, root, runs)
            with self._step("back-test"):
                self._back_test(spark, root, runs, settings)

    def _back_test(
        self, spark: SparkSession, root: str, runs: Sequence[FinishedRun], settings: SettingsResult
    ) -> None:
        recorded = _histories(spark, root, runs)
        histories = {scene: load.history for scene, load in recorded.items()}
        trials = list_trials(runs, histories, settings)
        if not trials:
            self.result["notes"].append(
                "no back-test: processing a record takes no time here, so members have no service rate"
            )
            return
        with results_folder(spark, f"{root}/backtest") as written:
            results: dict[int, TrialResult] = {}
            self._show_state("scenarios", 0, len(trials))
            for result in run_trials(spark, histories, trials, series_to=written.at(SERIES_NAME)):
                results[result.number] = result
                self._show_state("scenarios", len(results), len(trials))
            run = RunResult(
                history="the demo's recording",
                cores=os.cpu_count() or 1,
                scenarios=len(trials),
                failed=sum(result.outcome is None for result in results.values()),
                seconds=round(time.monotonic() - self._began, 3),
            )
            summary = summed_up(
                list(recorded.values()),
                trials,
                [results[trial.number] for trial in trials],
                run=run,
                started=self._started,
                read_series=partial(read_series, spark, written),
            )
            save_results(spark, written, summary)
        self.result["backtest"] = summary


def _histories(spark: SparkSession, root: str, runs: Sequence[FinishedRun]) -> dict[str, Recorded]:
    """Return the load of each scene as its first run recorded it: all runs of a scene get the same data."""
    histories: dict[str, Recorded] = {}
    for run in runs:
        if run.scene not in histories:
            since, until = (datetime.fromtimestamp(at, timezone.utc) for at in run.span(STEP_S))
            [recorded] = read_history(spark, root, groups=[run.group], since=since, until=until)
            histories[run.scene] = _from_the_start(recorded, run.scene)
    return histories


def _from_the_start(recorded: Recorded, name: str) -> Recorded:
    """Drop the first step, which ended before the work began; its records become the lag at the start."""
    whole = recorded.history
    history = replace(
        whole,
        group=name,
        arrivals=whole.arrivals[1:],
        start_lags=whole.start_lags + whole.arrivals[0],
        expected=None if whole.expected is None else whole.expected[1:],
        starts_at=whole.starts_at + whole.step_s,
    )
    return replace(recorded, history=history, lag=recorded.lag[1:])
