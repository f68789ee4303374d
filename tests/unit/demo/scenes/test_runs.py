"""The course of each scene, with a fake broker and fake members."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from demo.data.events import Flight
from demo.failover import scene
from demo.failover.acts import TASKS, acts
from demo.failover.scene import run_failover
from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.group.logs import RunLogs
from demo.member.start import StatefulConfig, decode_config
from demo.scenes import compared
from demo.scenes.compared import run
from demo.scenes.stage import Place, Stage
from demo.settings import Scene, Settings
from demo.view.live import View
from kafka_assignors.errors import BrokerError
from kafka_assignors.simulation.churn import parse_churn
from tests.unit.demo.scenes.fake_group import FakeCluster, FakeGroup

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


def perform(place: Place) -> tuple[RunLogs, list[str]]:
    """Run a scene; return its logs and lines of progress."""
    out = io.StringIO()
    return run(SETTINGS, FLIGHTS, place, View(Console(file=out))), out.getvalue().splitlines()


def test_replay_carries_out_its_churn_and_drains(group: FakeGroup, tmp_path: Path) -> None:
    logs, lines = perform(place(tmp_path, "replay"))
    result = measure("range", logs)
    steps = ["join m3", "leave m1", "kill m2"]
    assert [f"{step['kind']} {step['member']}" for step in result["steps"]] == steps
    assert [line for line in lines if line in steps] == steps
    # On a busy machine a step may be over before its progress is shown.
    assert any(line.startswith(f"the replay, range: {step} (") for step in steps for line in lines)
    assert (result["fault"], result["lost"], result["owned_at_end"]) == ("", 0, 4)
    assert result["produced"] == result["processed"] == 120
    assert group.left == ["m1", "m3"]
    assert group.deleted == {"demo-t"}


def test_backlog_is_filled_before_the_members_start_and_held_until_go(
    group: FakeGroup, tmp_path: Path
) -> None:
    logs, _ = perform(place(tmp_path, "backlog"))
    result = measure_drain("range", logs, SETTINGS.work_ms)
    assert (result["produced"], result["processed"], result["fault"]) == (60, 60, "")
    go = logs.driver_entry("go").t
    assert all(entry.t > go for log in logs.members.values() for entry in log if entry.event == "done")
    assert sum(lags[0] for lags in result["lag"]["members"].values()) == 60


def test_backlog_that_is_not_drained_in_time_is_a_fault(group: FakeGroup, tmp_path: Path) -> None:
    group.stuck = True
    logs, _ = perform(place(tmp_path, "backlog"))
    assert logs.driver_entry("end").note == "not drained within 0.36 s"


def test_broker_that_ends_stops_the_run_and_is_asked_for_no_deletion(
    group: FakeGroup, tmp_path: Path
) -> None:
    ended = Mock(side_effect=BrokerError("the broker ended"))
    with pytest.raises(BrokerError, match="the broker ended"):
        perform(dataclasses.replace(place(tmp_path, "replay"), check_broker=ended))
    assert group.deleted == set()


@pytest.mark.parametrize("error", [BrokerError("the topic is not there"), KeyboardInterrupt()])
def test_topic_whose_creation_was_interrupted_is_deleted(
    group: FakeGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    monkeypatch.setattr(FakeCluster, "create_topic", Mock(side_effect=error))
    with pytest.raises(type(error)):
        perform(place(tmp_path, "replay"))
    assert group.deleted == {"demo-t"}


def test_failover_has_two_acts_with_a_join_and_a_kill_each(
    group: FakeGroup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only the newcomer begins each act without state."""
    monkeypatch.setattr(scene, "CALM", 0.0)
    monkeypatch.setattr(scene, "SETTLE_TIMEOUT", 20.0)
    quick = tuple(dataclasses.replace(act, quiet_s=0.1) for act in acts(100))
    monkeypatch.setattr(scene, "acts", lambda _: quick)
    compare_counts = Mock()
    monkeypatch.setattr(scene, "compare_counts", compare_counts)
    out, failover = io.StringIO(), place(tmp_path, "failover", "", TASKS)
    result = run_failover(failover, FLIGHTS, 100, View(Console(file=out)), session_timeout_ms=6_000)
    assert [f"{event['act']} {event['kind']} {event['member']}" for event in result["events"]] == [
        *("cold join m3", "cold kill m1"),
        *("warm join m3", "warm kill m1"),
    ]
    assert {event["fault"] for event in result["events"]} == {result["fault"]} == {""}
    *_, sent = compare_counts.call_args.args
    assert sent.total() == result["sent"] == result["processed"] > 100
    configs = {name: decode_config(config.encode()) for name, config in group.configs.items()}
    assert configs == group.configs
    folders = [config.store_dir for config in configs.values() if isinstance(config, StatefulConfig)]
    assert [Path(folder).name for folder in folders] == ["m1", "m2", "m3-warm"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cold", "driver.jsonl", "warm"]
    assert group.deleted == {"demo-t", "demo-t-count-changelog"}
    assert "failover: warm: kill -9 m1" in out.getvalue().splitlines()


def test_traffic_that_failed_is_an_error_and_not_all_sent() -> None:
    stage = Stage.__new__(Stage)
    stage._traffic = Mock()
    stage._traffic.finished.is_set.return_value = True
    stage._traffic.check.side_effect = BrokerError("refused")
    with pytest.raises(BrokerError, match="refused"):
        stage.all_sent()
