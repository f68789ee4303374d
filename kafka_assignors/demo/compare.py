"""The whole demo: every strategy once, on one broker, from the same events, and the files it leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from kafka_assignors.demo.events import find_archive, read_flights
from kafka_assignors.demo.logs import writing
from kafka_assignors.demo.measure import measure
from kafka_assignors.demo.report import render, require_plotly
from kafka_assignors.demo.results import VERSION, Results, SettingsResult, StrategyResult
from kafka_assignors.demo.run import Place, View, run
from kafka_assignors.demo.settings import Settings
from kafka_assignors.errors import KafkaAssignorsError

DATASET = "nycflights13: all flights from New York in 2013"


def prepare(folder: Path) -> None:
    """Make ``folder``, and find out what is missing while nothing has been started yet.

    Raises:
        KafkaAssignorsError: it cannot be made, or holds something: logs are appended to, so those of an
            earlier demo would be measured with the new ones.
        MissingExtraError: the flights or plotly are not installed.
    """
    find_archive()
    require_plotly()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise KafkaAssignorsError(f"{folder} is not empty: give --out a new folder")


def compare(
    settings: Settings, bootstrap: str, folder: Path, view: View, check_broker: Callable[[], None]
) -> Results:
    """Run every strategy; write ``results.json``, ``report.html`` and a folder of logs each into ``folder``.

    Results and report are written after every strategy, so that a failure takes no other's with it.

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
    flights = read_flights(find_archive(), settings.speed * settings.duration)
    measured: list[StrategyResult] = []
    results = Results(
        version=VERSION,
        started=started.isoformat(timespec="seconds"),
        dataset=DATASET,
        settings=_settings(settings),
        strategies=measured,
    )
    for number, strategy in enumerate(settings.strategies, 1):
        place = Place(
            bootstrap=bootstrap,
            folder=folder / strategy,
            topic=f"demo-{strategy}-{started:%Y%m%d-%H%M%S}-{os.getpid()}",
            number=number,
            of=len(settings.strategies),
            check_broker=check_broker,
        )
        with writing(place.folder):
            place.folder.mkdir()
        view.step(f"{strategy}: starting {settings.consumers} members")
        measured.append(measure(strategy, run(strategy, settings, flights, place, view)))
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
    for one in results["strategies"]:
        name, unowned = one["strategy"], results["settings"]["partitions"] - one["owned_at_end"]
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
        "consumers": settings.consumers,
        "partitions": settings.partitions,
        "speed": settings.speed,
        "duration": settings.duration,
        "churn": ",".join(str(step) for step in settings.churn),
        "work_ms": settings.work_ms,
        "warm_up_ms": settings.warm_up_ms,
        "session_timeout_ms": settings.session_timeout_ms,
        "heartbeat_ms": settings.heartbeat_ms,
        "batch": settings.batch,
    }
