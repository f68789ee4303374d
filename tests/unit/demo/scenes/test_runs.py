"""The course of each scene, with a fake broker and fake members."""

from __future__ import annotations

import dataclasses
import io
import json
from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest
from rich.console import Console

from demo.data.events import Flight
from demo.failover import scene
from demo.failover.acts import TASKS, acts
from demo.failover.results import CountsResult
from demo.failover.scene import run_failover
from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.scenes import compared
from demo.scenes.compared import run
from demo.scenes.stage import Place
from demo.settings import Scene, Settings
from demo.view.live import View
from kafka_assignors.errors import BrokerError
from kafka_assignors.simulation.churn import parse_churn
from tests.unit.demo.scenes.fake_group import FakeCluster, FakeGroup, gone

KEYS = (b"ORD", b"LAX", b"ATL", b"BOS", b"SFO", b"MIA", b"IAD", b"XNA", b"DEN", b"SEA", b"PDX", b"HNL")
FLIGHTS = [Flight(minute, KEYS[minute % 12], json.dumps({"carrier": "AA"}).encode()) for minute in range(600)]
SETTINGS = Settings(
    scenes=("replay", "backlog"),
    strategies=("range",),
    consumers=2,
    partitions=4,
    speed=200.0,
    duration=0.6,
    churn=parse_churn("join@0.1,leave@0.2,kill@0.3"),
    backlog=60,
    work_ms=1.0,
    drain_timeout=0.3,
)


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> FakeGroup:
    monkeypatch.setattr(compared, "CALM", 0.0)
    return FakeGroup(monkeypatch)


def place(folder: Path, scene: Scene, strategy: str = "range", partitions: int = 4) -> Place:
    return Place(scene, strategy, "h:1", folder, "demo-t", partitions, check_broker=lambda: None)


def test_replay_carries_out_its_churn_and_drains(group: FakeGroup, tmp_path: Path) -> None:
    out = io.StringIO()
    logs = run(SETTINGS, FLIGHTS, place(tmp_path, "replay"), View(Console(file=out)))
    result = measure("range", logs)
    assert [(step["kind"], step["member"]) for step in result["steps"]] == [
        ("join", "m3"),
        ("leave", "m1"),
        ("kill", "m2"),
    ]
    assert (result["fault"], result["lost"], result["owned_at_end"]) == ("", 0, 4)
    assert result["produced"] == result["processed"] == 120
    assert sorted(logs.members) == ["m1", "m2", "m3"]
    assert group.left == ["m1", "m3"]
    assert group.deleted == {"demo-t"}
    lines = out.getvalue().splitlines()
    assert [line for line in lines if line in {"join m3", "leave m1", "kill m2"}] == [
        "join m3",
        "leave m1",
        "kill m2",
    ]
    assert any(line.startswith("the replay, range: leave m1 (") for line in lines)


def test_backlog_is_filled_before_the_members_start_and_held_until_go(
    group: FakeGroup, tmp_path: Path
) -> None:
    logs = run(SETTINGS, FLIGHTS, place(tmp_path, "backlog"), View(Console(file=io.StringIO())))
    result = measure_drain("range", logs, SETTINGS.work_ms)
    assert (result["produced"], result["processed"], result["fault"]) == (60, 60, "")
    go = logs.driver_entry("go").t
    assert all(entry.t > go for log in logs.members.values() for entry in log if entry.event == "done")
    assert sum(lags[0] for lags in result["lag"]["members"].values()) == 60


def test_backlog_that_is_not_drained_in_time_is_a_fault(group: FakeGroup, tmp_path: Path) -> None:
    group.stuck = True
    logs = run(SETTINGS, FLIGHTS, place(tmp_path, "backlog"), View(Console(file=io.StringIO())))
    assert logs.driver_entry("end").note == "not drained within 0.36 s"
    assert measure_drain("range", logs, 1.0)["lost"] == 60


def test_broker_that_ends_stops_the_run_and_is_asked_for_no_deletion(
    group: FakeGroup, tmp_path: Path
) -> None:
    ended = dataclasses.replace(place(tmp_path, "replay"), check_broker=gone)
    with pytest.raises(BrokerError, match="the broker ended"):
        run(SETTINGS, FLIGHTS, ended, View(Console(file=io.StringIO())))
    assert group.deleted == set()


@pytest.mark.parametrize("error", [BrokerError("the topic is not there"), KeyboardInterrupt()])
def test_topic_whose_creation_was_not_seen_to_its_end_is_deleted(
    group: FakeGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(FakeCluster, "create_topic", fail)
    with pytest.raises(type(error)):
        run(SETTINGS, FLIGHTS, place(tmp_path, "replay"), View(Console(file=io.StringIO())))
    assert group.deleted == {"demo-t"}


def test_failover_has_two_acts_with_a_join_and_a_kill_each(
    group: FakeGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scene, "CALM", 0.0)
    monkeypatch.setattr(scene, "SETTLE_TIMEOUT", 20.0)
    quick = tuple(dataclasses.replace(act, quiet_s=0.1) for act in acts(100))
    monkeypatch.setattr(scene, "acts", lambda _: quick)

    def compare_counts(result: CountsResult, *given: Counter[bytes]) -> None:
        result["records"] = given[-1].total()

    monkeypatch.setattr(scene, "compare_counts", compare_counts)
    out = io.StringIO()
    result = run_failover(
        place(tmp_path, "failover", "", TASKS),
        FLIGHTS,
        100,
        View(Console(file=out)),
        session_timeout_ms=6_000,
    )
    assert [(event["act"], event["kind"], event["member"]) for event in result["events"]] == [
        ("cold", "join", "m3"),
        ("cold", "kill", "m1"),
        ("warm", "join", "m3"),
        ("warm", "kill", "m1"),
    ]
    assert {event["fault"] for event in result["events"]} == {""}
    assert result["sent"] == result["processed"] > 100
    assert (result["fault"], result["lost"]) == ("", 0)
    assert result["counts"]["records"] == result["sent"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cold", "driver.jsonl", "warm"]
    assert group.deleted == {"demo-t", "demo-t-count-changelog"}
    assert "failover: warm: kill -9 m1" in out.getvalue().splitlines()
