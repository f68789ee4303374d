"""The demo's third scene for real, small: what it counted, what it restored, and what is left of it."""

from __future__ import annotations

import pytest
from kafka import KafkaAdminClient

from demo.failover.acts import TASKS
from demo.failover.results import EventResult, FailoverResult
from tests.integration.demo.small_demo import FLIGHTS, Demo

pytestmark = pytest.mark.long

Events = dict[tuple[str, str], EventResult]


@pytest.fixture(scope="module")
def result(whole: Demo) -> FailoverResult:
    failover_result = whole.results["failover"]
    assert failover_result is not None
    return failover_result


@pytest.fixture(scope="module")
def events(result: FailoverResult) -> Events:
    return {(event["act"], event["kind"]): event for event in result["events"]}


def test_counts_equal_the_topics_apart_from_known_duplicates(result: FailoverResult) -> None:
    counts = result["counts"]
    assert counts["differences"] == []
    assert counts["records"] == result["sent"] == result["processed"] > FLIGHTS
    assert counts["counted"] - counts["doubles"] == counts["records"]
    assert counts["doubles"] <= counts["again"]
    assert counts["lines"] > 100
    assert (result["lost"], result["fault"]) == (0, "")
    assert counts["copies"] >= TASKS


def test_all_events_happened_and_the_group_settled(events: Events) -> None:
    assert list(events) == [("cold", "join"), ("cold", "kill"), ("warm", "join"), ("warm", "kill")]
    for event in events.values():
        assert event["fault"] == ""
        assert event["moved"] >= TASKS // 3
        assert len(event["tasks"]) == TASKS
        assert event["rebalances"] >= 1
        assert 0 < event["still_p50"] <= event["still_max"]
    assert events["cold", "join"]["probing"] == events["cold", "kill"]["probing"] == 0


@pytest.mark.parametrize("kind", ["join", "kill"])
def test_cold_task_restores_its_whole_changelog(events: Events, kind: str) -> None:
    event = events["cold", kind]
    moved = [task for task in event["tasks"] if task["moved"]]
    assert all(task["waited"] >= task["changelog"] > 0 for task in moved)


@pytest.mark.parametrize("kind", ["join", "kill"])
def test_warm_task_restores_less_than_a_cold_one(events: Events, kind: str) -> None:
    cold, warm = events["cold", kind], events["warm", kind]
    assert warm["waited"] < cold["waited"]
    assert warm["waited"] < warm["changelog"]


def test_changelog_size_comes_from_the_broker(result: FailoverResult) -> None:
    assert 0 < result["bytes_counted"] < result["bytes"]
    assert result["changelog"] > 2 * FLIGHTS


def test_progress_names_each_step(whole: Demo) -> None:
    lines = whole.ended.stderr.splitlines()
    logged = [line.removeprefix("failover: ") for line in lines if line.startswith("failover: ")]
    for what in (f"{FLIGHTS:,} flights to count", "cold: m3 joins", "cold: kill -9 m1", "warm: kill -9 m1"):
        assert what in logged
    assert any(line.startswith("the failover: count the flights") for line in lines)


def test_no_topic_group_or_file_is_left(whole: Demo, kafka_bootstrap: str) -> None:
    with KafkaAdminClient(bootstrap_servers=kafka_bootstrap) as admin:
        left = [*admin.list_topics(), *(str(group) for group in admin.list_groups())]
    assert not [name for name in left if "demo-failover-" in name]
    files = sorted(path.name for path in (whole.out / "failover").iterdir())
    assert files == ["cold", "driver.jsonl", "warm"]
