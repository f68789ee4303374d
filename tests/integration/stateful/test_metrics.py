"""The metrics of a stateful member while it restores and runs, and its page for Prometheus."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors.metrics.prometheus import register
from kafka_assignors.stateful import RuntimeOptions, StatefulConsumer, Subtopology, Topology
from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App
from tests.support.waiting import until

GROUP = "kafka-assignors-stateful-metrics"


@contextmanager
def running(app: App, store_dir: Path, **options: Any) -> Iterator[StatefulConsumer]:
    """A member of the application in this process, with an empty store.  It restores slowly."""
    consumer = StatefulConsumer(
        Topology((Subtopology("count", (app.topic,)),)),
        lambda record, store: store.put(record.key, b"1"),
        store_dir,
        options=RuntimeOptions(restore_fetch_bytes=4096, commit_interval_ms=100, **options),
        client_id="second",
        group_id=app.group,
        bootstrap_servers=app.bootstrap,
    )
    thread = threading.Thread(target=consumer.run, daemon=True)
    thread.start()
    try:
        yield consumer
    finally:
        consumer.close()
        thread.join(60)
    assert not thread.is_alive()


def page_of(port: int) -> dict[str, dict[str, float]]:
    """Scrape a page: client id -> name -> value of the samples without other labels."""
    with urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        families = list(text_string_to_metric_families(page.read().decode()))
    values: dict[str, dict[str, float]] = {}
    for sample in (sample for family in families for sample in family.samples):
        if not any(sample.labels.get(label) for label in ("topic", "node_id")):
            values.setdefault(sample.labels["client_id"], {})[sample.name] = sample.value
    return values


def test_metrics_of_a_member_that_restores_and_then_runs(fresh: FreshNames, tmp_path: Path) -> None:
    with App(fresh, tmp_path, partitions=2) as app:
        app.produce(4_000)
        first = app.join()
        app.wait_until_done()
        first.close()
        to_restore = sum(app.changelog_ends().values())
        with running(app, tmp_path / "second") as consumer:
            seen: list[dict[str, float]] = []

            def runs() -> bool:
                seen.append((consumer.metrics() or {})[GROUP])
                return seen[-1]["active-running-tasks"] == 2

            until(runs, "both tasks to be processed", pause_s=0.005)
            restoring = [values for values in seen if values["active-restoring-tasks"]]
            assert max(values["restore-lag"] for values in restoring) > 1_000
            assert max(values["restored-records-rate"] for values in seen) > 0
            assert seen[-1]["restored-records-total"] >= to_restore // 2  # compaction may remove some
            assert seen[-1]["restore-lag"] == seen[-1]["active-restoring-tasks"] == 0

            registry = CollectorRegistry()
            register(consumer, registry)
            server, _ = start_http_server(0, "127.0.0.1", registry)
            try:
                app.produce(100)
                app.wait_until_done()
                page = page_of(server.server_port)["second"]
                consumer.close()
                until(lambda: not page_of(server.server_port), "the closed member to leave the page")
            finally:
                server.shutdown()
                server.server_close()
        assert page["kafka_assignors_stateful_active_running_tasks"] == 2
        assert page["kafka_assignors_stateful_restored_records_total"] >= to_restore // 2
        assert 0 <= page["kafka_assignors_stateful_last_commit_ago_seconds"] < 30
        assert page["kafka_assignors_stateful_last_checkpoint_ago_seconds"] >= 0
        assert page["kafka_consumer_coordinator_assigned_partitions"] == 2
        assert page["kafka_consumer_coordinator_last_heartbeat_ago_seconds"] < 60
        assert consumer.metrics() == {}


def test_metrics_count_standbys_and_what_they_lack(fresh: FreshNames, tmp_path: Path) -> None:
    options = {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 1_000}
    with App(fresh, tmp_path, partitions=2, **options) as app:
        app.produce(1_000)
        app.join()
        app.wait_until_done()
        with running(app, tmp_path / "second", acceptable_recovery_lag=100, **options) as consumer:

            def counts() -> list[float]:
                values = (consumer.metrics() or {})[GROUP]
                names = ("active-running-tasks", "active-restoring-tasks", "standby-tasks", "warmup-tasks")
                return [*(values[name] for name in names), values["copy-lag"]]

            until(lambda: counts() == [1, 0, 1, 0, 0], "a task and a standby that is up to date")
        app.close()
