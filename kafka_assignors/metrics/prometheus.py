"""Exports the metrics of consumers to Prometheus, with prometheus-client (extra ``prometheus``)."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterator
from functools import lru_cache

from kafka_assignors.errors import needs_extra
from kafka_assignors.metrics.exported import (
    ExportedConsumers,
    ExportedValue,
    Family,
    HasMetrics,
    unit_of,
    words_of,
)

with needs_extra("prometheus"):
    from prometheus_client import REGISTRY, CollectorRegistry
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.registry import Collector

_collectors: weakref.WeakKeyDictionary[CollectorRegistry, ConsumerCollector] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def register(consumer: HasMetrics, registry: CollectorRegistry = REGISTRY) -> None:
    """Add a consumer's metrics to a registry of prometheus-client, until the consumer is closed or deleted.

    Args:
        consumer: a ``KafkaConsumer``, `ContinuousConsumer` or `StatefulConsumer`.  Give each a ``client_id``,
            which becomes a label.
        registry: by default prometheus-client's own.
    """
    with _lock:
        collector = _collectors.get(registry)
        if collector is None:
            collector = ConsumerCollector()
            registry.register(collector)
            _collectors[registry] = collector
    collector.consumers.add(consumer)


class ConsumerCollector(Collector):
    """Reads the metrics of all registered consumers at each scrape.

    Attributes:
        consumers: the registered consumers.
    """

    def __init__(self) -> None:
        self.consumers = ExportedConsumers(_family)

    def describe(self) -> list[GaugeMetricFamily]:
        """Return no names: they depend on the consumers, and grow while these run."""
        return []

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield each metric once, with the values of all consumers."""
        families: dict[Family, list[tuple[ExportedValue, float]]] = {}
        for exported in self.consumers.read():
            if exported.value is not None:
                families.setdefault(exported.family, []).append((exported, exported.value))
        for family, values in families.items():
            tags = sorted({tag for exported, _ in values for tag in exported.tags})
            kind = CounterMetricFamily if family.is_total else GaugeMetricFamily
            metric = kind(family.name, values[0][0].description, labels=[_snake(tag) for tag in tags])
            for exported, value in values:
                labels = [exported.tags.get(tag, "") for tag in tags]
                metric.add_metric(labels, value)
            yield metric


@lru_cache(maxsize=4096)
def _family(group: str, name: str) -> Family:
    """Return a family with a name by Prometheus's conventions, such as its base units and suffixes."""
    unit, is_total = unit_of(name), name.endswith("-total")
    words = words_of(name)
    total = [words.pop()] if is_total else []
    if words[-1] == "count":  # Prometheus reserves this suffix for histograms
        group, words = group.removesuffix("-count"), [f"{word}s" for word in words[-2:-1]]
    if unit.symbol == "s":
        words.append("seconds")
    elif unit.symbol == "By" and "bytes" not in words:
        words.append("bytes")
    prefix = [] if group.startswith("kafka-") else ["kafka"]
    return Family(_snake("_".join([*prefix, group, *words, *total])), unit, is_total)


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower())
