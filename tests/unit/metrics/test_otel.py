"""The instruments on OpenTelemetry's API, read with its SDK."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

import pytest
from opentelemetry.metrics import CallbackOptions, NoOpMeter, set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge, InMemoryMetricReader, Sum

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.metrics import otel
from kafka_assignors.metrics.exported import ExportedConsumers, HasMetrics
from kafka_assignors.metrics.otel import ConsumerInstruments, register
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer
from tests.unit.metrics.members import Member

Read = Callable[[], dict[str, Any]]


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def provider(reader: InMemoryMetricReader) -> Any:
    provider = MeterProvider([reader])
    yield provider
    provider.shutdown()


@pytest.fixture
def read(reader: InMemoryMetricReader) -> Read:
    def by_name() -> dict[str, Any]:
        data = reader.get_metrics_data()
        resources = [] if data is None else data.resource_metrics
        found = [m for resource in resources for scope in resource.scope_metrics for m in scope.metrics]
        assert len({metric.name for metric in found}) == len(found)
        return {metric.name: metric for metric in found}

    return by_name


def values(metric: Any) -> dict[frozenset[tuple[str, Any]], float]:
    return {frozenset(point.attributes.items()): point.value for point in metric.data.data_points}


def tags(**names: str) -> frozenset[tuple[str, str]]:
    return frozenset(
        {"client-id": "c", **{name.replace("_", "-"): value for name, value in names.items()}}.items()
    )


def test_names_are_those_of_the_java_client_and_units_are_base_units(
    provider: MeterProvider, read: Read
) -> None:
    """Counters and gauges by kind.  A unit of time is not in the name."""
    member = Member()
    member.add("fetch-latency-avg", 250, "consumer-fetch-manager-metrics", "The average time in ms.")
    member.add("rebalance-total", 2, "consumer-coordinator-metrics")
    member.add("rebalance-rate-per-hour", 4, "consumer-coordinator-metrics")
    member.add("bytes-consumed-rate", 5, "consumer-fetch-manager-metrics")
    member.add("copy-lag", 300, "kafka-assignors-stateful-metrics")
    member.add("last-commit-seconds-ago", 3, "kafka-assignors-stateful-metrics")
    member.add("plan-time-ms", 20, "kafka-assignors-metrics")
    member.add("io-time-ns-avg", 2e9)
    register(member, provider)
    metrics = read()
    assert {name: (metric.unit, type(metric.data)) for name, metric in metrics.items()} == {
        "kafka.metrics.count": ("", Gauge),
        "kafka.consumer.fetch_latency_avg": ("s", Gauge),
        "kafka.consumer.rebalance_total": ("", Sum),
        "kafka.consumer.rebalance_rate_per_hour": ("1/h", Gauge),
        "kafka.consumer.bytes_consumed_rate": ("By/s", Gauge),
        "kafka.assignors.stateful.copy_lag": ("", Gauge),
        "kafka.assignors.stateful.last_commit_ago": ("s", Gauge),
        "kafka.assignors.plan_time": ("s", Gauge),
        "kafka.consumer.io_time_avg": ("s", Gauge),
    }
    assert metrics["kafka.consumer.rebalance_total"].data.is_monotonic
    assert metrics["kafka.consumer.fetch_latency_avg"].description == "The average time in seconds"
    assert values(metrics["kafka.consumer.fetch_latency_avg"]) == {tags(): 0.25}
    assert values(metrics["kafka.assignors.plan_time"]) == {tags(): 0.02}
    assert values(metrics["kafka.consumer.io_time_avg"]) == {tags(): 2}


def test_gauge_and_counter_have_different_names_without_total(provider: MeterProvider, read: Read) -> None:
    """A translation to Prometheus drops "_total" from the name of a counter."""
    member = Member()
    for name in ("partitions-moved", "partitions-moved-total"):
        member.add(name, 1, "kafka-assignors-metrics")
    register(member, provider)
    gauge, counter = "kafka.assignors.partitions_moved_last", "kafka.assignors.partitions_moved_total"
    assert read().keys() == {"kafka.metrics.count", gauge, counter}


def test_broker_is_an_attribute_and_the_finest_values_count(provider: MeterProvider, read: Read) -> None:
    member = Member()
    member.add("request-rate", 9)
    member.add("request-rate", 4, "consumer-node-metrics.node-1")
    member.add("request-rate", 5, "consumer-node-metrics.node-2")
    register(member, provider)
    assert values(read()["kafka.consumer.request_rate"]) == {tags(node_id="1"): 4, tags(node_id="2"): 5}


def test_metrics_that_come_later_are_exported_at_the_next_collection(
    provider: MeterProvider, read: Read
) -> None:
    member = Member()
    register(member, provider)
    member.add("records-lag-max", 7)
    read()
    until(lambda: "kafka.consumer.records_lag_max" in read(), "the new instrument")


def test_collection_reads_each_consumer_once(provider: MeterProvider, read: Read) -> None:
    member = Member()
    for number in range(20):
        member.add(f"load-{number}", number)
    register(member, provider)
    for _collection in range(2):
        before = member.readings
        assert len(read()) == 21
        assert member.readings == before + 1


def test_collections_at_the_same_time_have_all_values_and_create_one_thread() -> None:
    """OpenTelemetry's SDK takes turns; another one may not."""
    member, callbacks, may_create = Member(), [], threading.Event()
    member.add("first", 1)

    class Recording(NoOpMeter):
        def create_observable_gauge(self, name: str, *arguments: Any, **_: Any) -> Any:
            assert may_create.wait(60)
            callbacks.extend(arguments[0])

    instruments = ConsumerInstruments(Recording("test"))
    instruments.consumers.add(member)
    may_create.set()
    instruments.create()
    may_create.clear()
    member.add("second", 2)

    def collect(_number: int) -> list[int]:
        return [len(list(callback(CallbackOptions()))) for callback in callbacks * 50]

    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(set(counts) == {1} for counts in threads.map(collect, range(4)))
        assert len([thread for thread in threading.enumerate() if "otel" in thread.name]) == 1
    finally:
        may_create.set()
    until(lambda: len(callbacks) == 3, "the instrument of the second metric")


def test_values_that_a_collection_left_unread_are_not_exported_later() -> None:
    """A collection timed out after the first of two instruments, and the next one begins with the other."""
    member, callbacks, now = Member(), {}, 0.0
    value = 1.0
    for name in ("a", "b"):
        member.add(name, lambda: value)

    class Recording(NoOpMeter):
        def create_observable_gauge(self, name: str, *arguments: Any, **_: Any) -> Any:
            callbacks[name] = arguments[0][0]

    def observe(name: str) -> list[float]:
        return [each.value for each in callbacks[f"kafka.consumer.{name}"](CallbackOptions())]

    instruments = ConsumerInstruments(Recording("test"), clock=lambda: now)
    instruments.consumers.add(member)
    instruments.create()
    assert observe("a") == [1]
    value = 2.0
    assert observe("b") == [1], "the same collection"
    assert observe("a") == [2]
    now, value = 10.0, 3.0
    assert observe("b") == [3]


def test_provider_is_not_kept() -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    member, reference = Member(), weakref.ref(provider)
    register(member, provider)
    assert reader.get_metrics_data() is not None
    provider.shutdown()
    del provider, reader
    gc.collect()
    assert reference() is None


def test_consumers_share_instruments_until_they_are_closed_or_deleted(
    provider: MeterProvider, read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    members = [Member(), Member(), Member("d")]
    for member in members:
        register(member, provider)
    assert values(read()["kafka.metrics.count"]).keys() == {
        tags(),
        tags(client_id="c-2"),
        tags(client_id="d"),
    }
    members[0].close()
    del members[1], member
    gc.collect()
    assert values(read()["kafka.metrics.count"]).keys() == {tags(client_id="d")}
    assert not caplog.records, "the SDK warns of instruments that are created twice"


@pytest.fixture
def no_global_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.metrics import _internal
    from opentelemetry.util._once import Once

    monkeypatch.setattr(otel, "_global", None)
    monkeypatch.setattr(_internal, "_METER_PROVIDER_SET_ONCE", Once())
    monkeypatch.setattr(_internal, "_METER_PROVIDER", None)
    monkeypatch.setattr(_internal, "_PROXY_METER_PROVIDER", _internal._ProxyMeterProvider())


@pytest.mark.parametrize("order", sorted(set(permutations(["given", "set", "global"]))))
@pytest.mark.usefixtures("no_global_provider")
def test_provider_with_consumers_may_become_the_global_one(
    order: tuple[str, ...], provider: MeterProvider, read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    """Metrics of one consumer alone, too, are exported."""
    members = {}
    for step in order:
        if step == "set":
            set_meter_provider(provider)
            continue
        member = members[step] = Member(step)
        member.add(f"{step}-only", 1)
        register(member, provider if step == "given" else None)

    def exported() -> set[str]:
        metrics = read()
        clients = {client for key in values(metrics["kafka.metrics.count"]) for _, client in key}
        return clients | {name for name in metrics if name.endswith("only") and values(metrics[name])}

    expected = {"given", "global", "kafka.consumer.given_only", "kafka.consumer.global_only"}
    until(lambda: exported() == expected, "both consumers")
    assert not caplog.records


@pytest.mark.usefixtures("no_global_provider")
def test_global_provider_may_be_set_after_the_first_consumer_is_registered(
    reader: InMemoryMetricReader, read: Read
) -> None:
    """Consumers registered before and after, and with the global provider itself, share instruments."""
    members = [Member("a"), Member("b"), Member("c")]
    register(members[0])
    provider = MeterProvider([reader])
    set_meter_provider(provider)
    register(members[1])
    register(members[2], provider)
    assert len(values(read()["kafka.metrics.count"])) == 3
    provider.shutdown()


@pytest.mark.usefixtures("no_global_provider")
def test_collection_during_a_registration_loses_no_consumer(
    provider: MeterProvider, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection unites the global instruments with those of the provider that became the global one."""
    members = [Member("a"), Member("b"), Member("c")]
    register(members[0], provider)
    register(members[1])
    add = ExportedConsumers.add

    def add_late(consumers: ExportedConsumers, consumer: HasMetrics) -> None:
        if consumer is members[2] and collection.ident is None:  # moved consumers are added, too
            set_meter_provider(provider)
            collection.start()
            collection.join(0.2)  # it ends here only if it may come in between
        add(consumers, consumer)

    collection = threading.Thread(target=otel._unite)
    monkeypatch.setattr(ExportedConsumers, "add", add_late)
    register(members[2])
    collection.join()
    assert len(values(read()["kafka.metrics.count"])) == 3


def test_real_consumer_has_its_instruments(
    provider: MeterProvider, read: Read, consumer: MakeConsumer
) -> None:
    register(consumer(CooperativeStickyAssignor, client_id="real"), provider)
    metrics = read()
    assert {"kafka.consumer.assigned_partitions", "kafka.consumer.connection_count"} <= metrics.keys()
    assert values(metrics["kafka.consumer.assigned_partitions"]) == {tags(client_id="real"): 0}
