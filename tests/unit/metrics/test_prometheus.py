"""The page that Prometheus scrapes, written and parsed by prometheus-client."""

from __future__ import annotations

import gc
import logging
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors import ContinuousConsumer, CooperativeStickyAssignor
from kafka_assignors.metrics.prometheus import register
from tests.support.group.joining import cluster, joined, raw
from tests.unit.conftest import MakeConsumer
from tests.unit.metrics.members import Member

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry(auto_describe=True)


def parsed(page: str) -> Samples:
    """Return the samples of a page, each of which has to be there once."""
    families = list(text_string_to_metric_families(page))
    assert len({family.name for family in families}) == len(families)
    samples = [sample for family in families for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def scraped(registry: CollectorRegistry) -> Samples:
    return parsed(generate_latest(registry).decode())


def sample(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset({"client_id": "c", **labels}.items())


@pytest.mark.parametrize(
    ("group", "name", "value", "exported", "expected"),
    [
        ("-fetch-manager", "records-lag-max", 7, "fetch_manager_records_lag_max", 7),
        ("-fetch-manager", "fetch-latency-avg", 250, "fetch_manager_fetch_latency_avg_seconds", 0.25),
        ("-fetch-manager", "fetch-size-avg", 9, "fetch_manager_fetch_size_avg_bytes", 9),
        ("-fetch-manager", "bytes-consumed-rate", 5, "fetch_manager_bytes_consumed_rate", 5),
        ("-coordinator", "last-heartbeat-seconds-ago", 3, "coordinator_last_heartbeat_ago_seconds", 3),
        ("-coordinator", "rebalance-total", 2, "coordinator_rebalance_total", 2),
        (
            "-coordinator",
            "rebalance-latency-total",
            1_500,
            "coordinator_rebalance_latency_seconds_total",
            1.5,
        ),
        ("-coordinator", "rebalance-rate-per-hour", 4, "coordinator_rebalance_rate_per_hour", 4),
        ("", "connection-count", 3, "connections", 3),
        ("", "io-time-ns-avg", 2e9, "io_time_avg_seconds", 2),
    ],
)
def test_names_and_values_have_base_units(
    group: str, name: str, value: float, *, exported: str, expected: float, registry: CollectorRegistry
) -> None:
    member = Member()
    member.add(name, value, f"consumer{group}-metrics")
    register(member, registry)
    assert scraped(registry)[sample(f"kafka_consumer_{exported}")] == pytest.approx(expected)


def test_our_metrics_begin_with_our_name(registry: CollectorRegistry) -> None:
    """The number of registered metrics, which kafka-python counts, is not named as a histogram's."""
    member = Member()
    member.add("plan-time-ms", 20, "kafka-assignors-metrics")
    member.add("copy-lag", 300, "kafka-assignors-stateful-metrics")
    register(member, registry)
    assert scraped(registry) == {
        sample("kafka_metrics"): 3,
        sample("kafka_assignors_plan_time_seconds"): 0.02,
        sample("kafka_assignors_stateful_copy_lag"): 300,
    }


def test_totals_are_counters_and_all_else_gauges(registry: CollectorRegistry) -> None:
    member = Member()
    member.add("rebalance-total", 2, description="The rebalances.")
    member.add("join-time-max", 5, description="The max time in ms")
    register(member, registry)
    families = {
        family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())
    }
    assert families["kafka_consumer_rebalance"].type == "counter"
    assert families["kafka_consumer_rebalance"].documentation == "The rebalances"
    assert families["kafka_consumer_join_time_max_seconds"].type == "gauge"
    assert families["kafka_consumer_join_time_max_seconds"].documentation == "The max time in seconds"


def test_tags_are_labels_and_a_broker_is_one_too(registry: CollectorRegistry) -> None:
    member = Member()
    member.add("records-lag", 4, description="The lag for topic t.", topic="t", partition="1")
    member.add("request-rate", 8, "consumer-node-metrics.node-3")
    register(member, registry)
    samples = scraped(registry)
    assert samples[sample("kafka_consumer_records_lag", topic="t", partition="1")] == 4
    assert samples[sample("kafka_consumer_node_request_rate", node_id="3")] == 8
    assert "# HELP kafka_consumer_records_lag The lag\n" in generate_latest(registry).decode()


def test_value_of_the_whole_consumer_gives_way_to_values_by_topic(registry: CollectorRegistry) -> None:
    """A sum over all would count twice."""
    member = Member()
    for topic in ({}, {"topic": "a"}, {"topic": "b"}):
        member.add("records-consumed-rate", 1, **topic)
    register(member, registry)
    samples = scraped(registry)
    assert {name: value for name, value in samples.items() if "records" in name[0]} == {
        sample("kafka_consumer_records_consumed_rate", topic="a"): 1,
        sample("kafka_consumer_records_consumed_rate", topic="b"): 1,
    }


def test_metrics_without_a_value_are_left_out(registry: CollectorRegistry) -> None:
    """kafka-python's maxima are minus infinity before the first record; one that raises harms no other."""

    def broken() -> float:
        raise ValueError("broken")

    member = Member()
    for name, value in {"a": float("nan"), "b": float("-inf"), "c": broken, "d": 1}.items():
        member.add(name, value)  # type: ignore[arg-type]  # a float or a function
    register(member, registry)
    assert scraped(registry).keys() == {sample("kafka_metrics"), sample("kafka_consumer_d")}


def test_consumers_share_families_and_the_page_has_no_duplicates(registry: CollectorRegistry) -> None:
    """kafka-python's default client id is the same for all; a second registration counts once."""
    members = [Member("c"), Member("c"), Member("d"), Member("c")]
    for number, member in enumerate(members):
        member.add("load", number)
        register(member, registry)
        register(member, registry)
    name = "kafka_consumer_load"
    samples = scraped(registry)
    assert [samples[sample(name, client_id=label)] for label in ("c", "c-2", "d", "c-3")] == [0, 1, 2, 3]
    page = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]
    assert len(list(parse_openmetrics(page))) == 2  # type: ignore[no-untyped-call]


def test_consumer_without_client_id_leaves_the_page_whole(
    consumer: MakeConsumer, registry: CollectorRegistry
) -> None:
    made = [consumer(CooperativeStickyAssignor, client_id=None) for _number in range(2)]
    for each in made:
        register(each, registry)
    samples = scraped(registry)
    assert sample("kafka_metrics", client_id="") in samples
    assert sample("kafka_metrics", client_id="-2") in samples


def test_openmetrics_page_of_a_leader_has_no_name_twice(
    consumer: MakeConsumer, registry: CollectorRegistry
) -> None:
    """OpenMetrics drops "_total" from the name of a counter, so a gauge may not have the rest as its name."""
    made: Any = consumer(CooperativeStickyAssignor, client_id="c")
    made.subscribe(["t"])
    made._coordinator.group_protocols()
    (assignor,) = made._coordinator._assignors.values()
    assignor.assign(cluster({"t": 2}), [joined("a", raw(["t"]))])
    assignor._access.recorder.end_join()
    register(made, registry)
    page = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]
    families = {family.name: family for family in parse_openmetrics(page)}  # type: ignore[no-untyped-call]
    for name in ("kafka_assignors_partitions_moved", "kafka_assignors_partitions_held_back"):
        assert (families[name].type, families[f"{name}_last"].type) == ("counter", "gauge")
        assert sample(f"{name}_total") in scraped(registry)


def test_closed_and_deleted_consumers_drop_out(registry: CollectorRegistry) -> None:
    members = [Member("a"), Member("b"), Member("c")]
    for member in members:
        register(member, registry)
    members[0].close()
    del members[1], member
    gc.collect()
    assert scraped(registry).keys() == {sample("kafka_metrics")}
    register(again := Member("a"), registry)
    assert sample("kafka_metrics", client_id="a") in scraped(registry)
    again.close()


@pytest.mark.parametrize("answer", [None, RuntimeError("closed")])
def test_consumer_that_has_no_metrics_any_more_leaves_an_empty_page(
    answer: Exception | None, registry: CollectorRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def metrics(*, raw: bool) -> None:
        if answer is not None:
            raise answer

    register(member := Member(), registry)
    monkeypatch.setattr(member, "metrics", metrics)
    assert scraped(registry) == {}
    register(member, registry)


def test_consumer_without_metrics_is_not_exported(
    consumer: MakeConsumer, registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        register(consumer(CooperativeStickyAssignor, metrics_enabled=False), registry)
    assert [record.getMessage() for record in caplog.records] == [
        "a consumer is not exported: it is closed, has metrics_enabled=False, or metrics() failed (see DEBUG)"
    ]
    assert scraped(registry) == {}


def test_page_of_real_consumers_is_scraped_over_http(
    consumer: MakeConsumer, registry: CollectorRegistry
) -> None:
    """All of kafka-python's metrics that have a value are there, each once."""
    first = consumer(CooperativeStickyAssignor)
    port = first.config["bootstrap_servers"].rpartition(":")[2]
    with ContinuousConsumer(
        bootstrap_servers=f"127.0.0.1:{port}", api_version=(2, 5), group_id="g", client_id="second"
    ) as second:
        register(first, registry)
        register(second, registry)
        server, thread = start_http_server(0, "127.0.0.1", registry)
        try:
            with urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as page:
                samples = parsed(page.read().decode())
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
    clients = {dict(labels)["client_id"] for _, labels in samples}
    assert clients == {first.config["client_id"], "second"}
    names = {name for name, labels in samples if ("client_id", "second") in labels}
    assert {"kafka_consumer_coordinator_assigned_partitions", "kafka_consumer_connections"} <= names
    assert {"kafka_consumer_coordinator_commit_latency_avg_seconds"} <= names
