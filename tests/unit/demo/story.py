"""Logs made by hand, in seconds, for tests that check what is read from them."""

from __future__ import annotations

from pathlib import Path

from demo.group.logs import Entry, Event, RunLogs
from demo.member.start import WorkerConfig
from demo.pipeline.results import PipelineResult
from demo.results import VERSION, DrainResult, Results, SettingsResult, StrategyResult

S = 1_000_000_000

SETTINGS = SettingsResult(
    scenes=["replay", "backlog"],
    continuous=False,
    consumers=2,
    partitions=3,
    speed=1.0,
    duration=1.0,
    churn="",
    backlog=50,
    flights=1_000,
    work_ms=100.0,
    warm_up_ms=300.0,
    session_timeout_ms=6_000,
    heartbeat_ms=500,
    batch=2,
    pipeline=True,
)

SMALL_REPLAY: SettingsResult = {
    **SETTINGS,
    "consumers": 1,
    "partitions": 2,
    "speed": 60_000,
    "duration": 5,
    "churn": "join@3",
    "work_ms": 4,
    "warm_up_ms": 400,
    "batch": 25,
}


def results_of(
    strategies: list[StrategyResult], backlog: list[DrainResult], pipeline: PipelineResult | None = None
) -> Results:
    return Results(
        version=VERSION,
        started="2026-01-02T03:04:05+00:00",
        dataset="by hand",
        settings={**SMALL_REPLAY},
        seconds={"replay": 100.4, "backlog": 60.0},
        strategies=strategies,
        backlog=backlog,
        failover=None,
        pipeline=pipeline,
    )


def worker_config(folder: Path) -> WorkerConfig:
    """A member whose broker is not there, so it waits."""
    return WorkerConfig(
        bootstrap="127.0.0.1:1",
        topic="t",
        client_id="c",
        strategy="range",
        log=str(folder / "m1.jsonl"),
        work_ms=0,
        warm_up_ms=0,
        session_timeout_ms=6000,
        heartbeat_ms=500,
        batch=10,
    )


def at(t: float, event: Event, *partitions: int, note: str = "", generation: int = -1) -> Entry:
    """Something that happened at ``t`` s."""
    return Entry(round(t * S), event, partitions, note=note, generation=generation)


def done(began: float, ended: float, partition: int, first: int, last: int) -> Entry:
    return Entry(round(ended * S), "done", (partition,), first, last, round(began * S))


def sent(t: float, partition: int, first: int, last: int) -> Entry:
    return Entry(round(t * S), "sent", (partition,), first, last)


def opened(began: float, ended: float, partition: int) -> Entry:
    return Entry(round(ended * S), "opened", (partition,), began=round(began * S))


def uneven_backlog() -> RunLogs:
    """Two members with a backlog of 30, 10 and 10 records; who has the heaviest partition has another, too.

    All is sent at 1 s, the members are told to go at 10 s.  At 13 s partition 1 goes from m1 to m2.
    """
    driver = [
        sent(1, 0, 0, 29),
        sent(1, 1, 0, 9),
        sent(1, 2, 0, 9),
        at(2, "sent_all"),
        at(10, "go"),
        at(17, "end"),
    ]
    first = [
        at(5, "assigned", 0, 1),
        at(5, "joined", 0, 1, generation=1),
        done(10, 12, 0, 0, 19),
        at(13, "revoked", 1),
        at(13, "joined", 0, generation=2),
        done(13, 15, 0, 20, 29),
    ]
    second = [
        at(5, "assigned", 2),
        at(5, "joined", 2, generation=1),
        done(10, 11, 2, 0, 9),
        at(13, "assigned", 1),
        at(13, "joined", 1, 2, generation=2),
        done(13, 16, 1, 0, 9),
    ]
    return RunLogs(partitions=3, consumers=2, driver=driver, members={"m1": first, "m2": second})


def eager_join() -> RunLogs:
    """Two partitions, one member; a second joins 3 s into the replay, eagerly, and gains partition 1.

    Records 0..9 of both partitions are sent at 1 s, 10..19 at 2 s.  The newcomer warms up for 0.4 s.
    Record 9 of partition 1 is done twice.
    """
    driver = [
        at(10, "replay"),
        sent(11, 0, 0, 9),
        sent(11, 1, 0, 9),
        sent(12, 0, 10, 19),
        sent(12, 1, 10, 19),
        at(13, "join", note="m2"),
        at(19, "sent_all", note="12.5"),
        at(20, "end"),
    ]
    first = [
        at(1, "started", note="100"),
        at(2, "assigned", 0, 1),
        at(2, "joined", 0, 1, generation=1),
        done(11, 11.5, 0, 0, 9),
        done(12, 13, 1, 0, 9),
        at(13.1, "revoked", 0, 1),
        at(13.5, "assigned", 0),
        at(13.5, "joined", 0, generation=2),
        done(13.6, 14.5, 0, 10, 19),
        at(21, "revoked", 0),
    ]
    second = [
        at(13.2, "started", note="200"),
        at(13.5, "assigned", 1),
        at(13.5, "joined", 1, generation=2),
        opened(13.5, 13.9, 1),
        done(14, 15, 1, 9, 19),
    ]
    return RunLogs(partitions=2, consumers=1, driver=driver, members={"m1": first, "m2": second})
