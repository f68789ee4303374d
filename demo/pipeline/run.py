"""The pipeline, step by step: record, model the load, try strategies out, compare with what was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from demo.data.events import Flight
from demo.group.work import Work
from demo.pipeline.forecast import forecast_flights
from demo.pipeline.ran import Ran
from demo.pipeline.record import counts, record_commits, record_ends, unreadable
from demo.pipeline.results import PipelineResult
from demo.pipeline.trials import Tried, calibration, what_to_try
from demo.results import SettingsResult
from demo.settings import Compared
from kafka_assignors.broker import Progress
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.pipeline.backtest.files import prepare, save
from kafka_assignors.pipeline.backtest.job import TrialResult, run_trials
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.results import RunResult
from kafka_assignors.pipeline.backtest.summary import summed_up
from kafka_assignors.pipeline.history import read_history
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.session import SHORT_LIVED, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("start Spark", "record", "model the load", "back-test", "forecast")
STEP_S = 0.5
"""Of the load model: members commit several times a second, and a whole scene is a minute at most."""

HORIZON_S = 10.0
"""How far its forecast looks: about as long as a backlog takes."""

_NOT_BUSY = "no member was busy for long, so how fast one is cannot be had"


def run_pipeline(
    runs: Sequence[Ran],
    flights: Sequence[Flight],
    settings: SettingsResult,
    bootstrap: str,
    *,
    folder: Path,
    tell: Callable[[Work], None],
) -> PipelineResult:
    """Do all of it, in ``folder``; takes about 40 s on two cores.

    Never raises for what goes wrong in it: the result says so, and has what there was until then.

    Args:
        runs: of the demo, finished, on the broker that still has what they committed.
        flights: for the forecasts; ``FLIGHTS_S`` of them.
        settings: what the demo was asked for.
        bootstrap: ``host:port`` of that broker.
        folder: to be made.
        tell: told of the progress.
    """
    result = PipelineResult(
        fault="",
        notes=[],
        seconds={},
        step_s=STEP_S,
        read=0,
        recorded=[],
        backtest=None,
        calibration=[],
        forecast=None,
    )
    job = _Job(result, tell)
    try:
        _do(job, runs, flights, settings, bootstrap, folder=folder)
    except KafkaAssignorsError as error:
        result["fault"] = f"{STEPS[job.now]}: {error}"
    except Exception as error:  # of Spark or ours: the runs' own results must not go with it
        result["fault"] = f"{STEPS[job.now]}: {_one_line(error)}"
    else:
        tell(Work("the pipeline", STEPS, len(STEPS)))
    return result


class _Job:
    """Where it is."""

    def __init__(self, result: PipelineResult, tell: Callable[[Work], None]) -> None:
        self.result, self._tell, self.now = result, tell, 0

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Say that a step goes on, and how long it took."""
        self.now = STEPS.index(name)
        began = time.monotonic()
        self.say()
        yield
        self.result["seconds"][name] = round(time.monotonic() - began, 3)

    def say(self, said: str = "", done: int = 0, total: int | None = None) -> None:
        """Say how far it is."""
        self._tell(Work("the pipeline", STEPS, self.now, said, done, total))

    def heard(self, progress: Progress) -> None:
        """Pass on what another job says."""
        self.say(progress.step, progress.done, progress.total)


def _do(
    job: _Job,
    runs: Sequence[Ran],
    flights: Sequence[Flight],
    settings: SettingsResult,
    bootstrap: str,
    *,
    folder: Path,
) -> None:
    started = datetime.now(timezone.utc)
    result, root = job.result, str(folder.absolute())
    began = time.monotonic()
    job.say()
    with session("demo", java_options=SHORT_LIVED, on_progress=job.heard) as spark:
        result["seconds"][STEPS[0]] = round(time.monotonic() - began, 3)
        with job.step("record"):
            job.say("where the logs ended")
            record_ends(spark, root, runs, STEP_S)
            job.say("what was committed, from the broker's own topic")
            read = record_commits(spark, bootstrap, root, runs)
            result["read"] = read.records
            result["notes"] += unreadable(read)
        with job.step("model the load"):
            model = LoadSettings(step_s=STEP_S, horizon_s=HORIZON_S, delay_s=0.0)
            run_load_model(spark, root, model, available_now=True)
            result["recorded"] = counts(spark, root, runs)
        with job.step("back-test"):
            recorded = _histories(spark, root, runs)
            tried = what_to_try(runs, {scene: one.history for scene, one in recorded.items()}, settings)
            found = _run(job, spark, tried)
            result["calibration"] = calibration(runs, tried, found)
            if tried.backtest:
                backtest = [found[trial.number] for trial in tried.backtest]
                run = RunResult(
                    history="what the demo recorded",
                    cores=os.cpu_count() or 1,
                    scenarios=len(backtest),
                    failed=sum(one.outcome is None for one in backtest),
                    seconds=round(time.monotonic() - began, 3),
                )
                groups = {trial.group for trial in tried.backtest}
                results = summed_up(
                    list(recorded.values()),
                    tried.backtest,
                    backtest,
                    run=run,
                    started=started,
                    left_out={scene: _NOT_BUSY for scene in recorded if scene not in groups},
                )
                result["backtest"] = results
                prepare(folder / "backtest")
                save(folder / "backtest", results, backtest)
            else:
                result["notes"].append(f"no back-test: {_NOT_BUSY}")
        with job.step("forecast"):
            result["forecast"] = forecast_flights(
                spark, flights, settings["partitions"], settings["consumers"], job.say
            )


def _histories(spark: SparkSession, root: str, runs: Sequence[Ran]) -> dict[Compared, Recorded]:
    """The load of each scene as the first of its runs recorded it: all runs of a scene get the same data."""
    found: dict[Compared, Recorded] = {}
    for ran in runs:
        if ran.scene not in found:
            since, until = (datetime.fromtimestamp(at, timezone.utc) for at in ran.span(STEP_S))
            [recorded] = read_history(spark, root, groups=[ran.group], since=since, until=until)
            found[ran.scene] = _from_the_start(recorded, ran.scene)
    return found


def _from_the_start(recorded: Recorded, name: str) -> Recorded:
    """Without the first step, which ended before the work began and only tells what waited then."""
    history = recorded.history
    waiting = history.start_lags + history.arrivals[0]
    return replace(
        recorded,
        history=replace(history.between(1, history.steps, waiting), group=name),
        lag=recorded.lag[1:],
    )


def _run(job: _Job, spark: SparkSession, tried: Tried) -> dict[int, TrialResult]:
    trials = [*tried.backtest, *tried.calibration]
    found: dict[int, TrialResult] = {}
    job.say("scenarios", 0, len(trials))
    for one in run_trials(spark, tried.histories, trials):
        found[one.number] = one
        job.say("scenarios", len(found), len(trials))
    return found


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
