"""Reads the metrics of consumers, kafka-python's and ours, for an exporter."""

from __future__ import annotations

import logging
import math
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kafka_assignors.metrics.names import MEANINGS

log = logging.getLogger("kafka_assignors")

_CLIENT_ID = "client-id"
_NODE = "-metrics.node-"  # kafka-python appends a broker's number to the group of the broker's metrics


class HasMetrics(Protocol):
    """A ``KafkaConsumer``, ``ContinuousConsumer`` or ``StatefulConsumer``."""

    def metrics(self, raw: bool = False) -> Any:
        """Return the metrics; with ``raw`` as a dict of ``MetricName`` and ``KafkaMetric``."""


class Unit(NamedTuple):
    """The base unit of exported values."""

    symbol: str  # in UCUM; empty: the metric has no unit, or an unknown one
    scale: float = 1.0  # factor from a value in the registry to the base unit


@dataclass(frozen=True, slots=True)
class Family:
    """The metrics that are exported under one name."""

    name: str  # as exported
    unit: Unit  # of the exported values
    is_total: bool  # the value only grows


@dataclass(frozen=True, slots=True)
class ExportedValue:
    """One metric with its value."""

    family: Family
    description: str  # one sentence
    tags: Mapping[str, str]  # client id, and for some metrics topic, partition, broker or cause
    value: float | None  # finite, in the base unit; None: the metric has no value now


class ExportedConsumers:
    """The consumers that an exporter reads.  A consumer that is closed or deleted drops out.

    Any thread may add and read.  ``family_of`` returns the family of a metric, from its group and its name.
    """

    def __init__(self, family_of: Callable[[str, str], Family]) -> None:
        self._family_of = family_of
        self._consumers: list[tuple[weakref.ref[HasMetrics], str]] = []
        self._lock = threading.Lock()

    def add(self, consumer: HasMetrics) -> None:
        """Add a consumer; adding it again changes nothing.

        kafka-python's default client id is the same in all consumers of a process.  If another consumer
        already has this client id, "-2", "-3" and so on is appended.
        """
        metrics = _metrics_of(consumer)
        if not metrics:
            log.warning(
                "a consumer is not exported: it is closed, has metrics_enabled=False, or metrics() failed "
                "(see DEBUG)"
            )
            return
        ids = (name.tags[_CLIENT_ID] for name in metrics if _CLIENT_ID in (name.tags or {}))
        client_id = next(ids, None) or ""  # kafka-python accepts client_id=None
        with self._lock:
            live = self._live()
            if any(other is consumer for other, _, _ in live):
                return
            taken = {name for _, name, _ in live}
            numbered = (f"{client_id}-{number}" for number in range(2, len(taken) + 2))
            free = next(name for name in (client_id, *numbered) if name not in taken)
            self._consumers = [(weakref.ref(other), name) for other, name, _ in live]
            self._consumers.append((weakref.ref(consumer), free))

    def move_to(self, other: ExportedConsumers) -> None:
        """Move all consumers to another exporter."""
        with self._lock:
            live, self._consumers = self._live(), []
        for consumer, _, _ in live:
            other.add(consumer)

    def read(self) -> Iterator[ExportedValue]:
        """Read all metrics; no two have the same name and tags.

        kafka-python reports some values for a consumer and again by topic or broker.  Only the finer values
        are read, because a sum over all would count twice.
        """
        with self._lock:
            live = self._live()
        for _, client_id, metrics in live:
            by_family: dict[Family, dict[tuple[tuple[str, str], ...], Any]] = {}
            for metric in metrics.values():
                metric_group, node_tag = _split(metric.metric_name.group)
                family = self._family_of(metric_group, metric.metric_name.name)
                tags = {**(metric.metric_name.tags or {}), **node_tag, _CLIENT_ID: client_id}
                by_family.setdefault(family, {}).setdefault(tuple(sorted(tags.items())), metric)
            for family, by_tags in by_family.items():
                most_tags = max(map(len, by_tags))
                for key, metric in by_tags.items():
                    if len(key) == most_tags:
                        description = _description_of(metric.metric_name)
                        yield ExportedValue(family, description, dict(key), _value(metric, family.unit.scale))

    def _live(self) -> list[tuple[HasMetrics, str, dict[Any, Any]]]:
        """Return each consumer that has metrics, with its exported client id and these metrics."""
        return [
            (consumer, name, metrics)
            for reference, name in self._consumers
            if (consumer := reference()) is not None and (metrics := _metrics_of(consumer))
        ]


def _metrics_of(consumer: HasMetrics) -> dict[Any, Any]:
    """Return a consumer's metrics; none if it is closed, has them disabled, or fails to return them."""
    try:
        return consumer.metrics(raw=True) or {}
    except Exception:
        log.debug("the metrics of a consumer cannot be read", exc_info=True)
        return {}


def unit_of(name: str) -> Unit:
    """Return the base unit of a metric.  No symbol: it is a count, or its name does not show the unit."""
    words = set(name.split("-"))
    if name.endswith("-rate"):
        return Unit("By/s" if words & {"byte", "bytes"} else "1/s")
    if name.endswith("-per-hour"):
        return Unit("1/h")
    return next((unit for signs, unit in _UNITS if words & signs), Unit(""))


_UNITS = (  # the first match wins: io-time-ns-avg contains both "ns" and "time"
    ({"seconds"}, Unit("s")),
    ({"ns"}, Unit("s", 1e-9)),
    ({"ms", "latency", "time"}, Unit("s", 1e-3)),
    ({"byte", "bytes", "size"}, Unit("By")),
    ({"ratio"}, Unit("1")),
)


def words_of(name: str) -> list[str]:
    """Return the words of a metric's name without its time unit, because times are exported in seconds.

    A gauge gets the word "last" if there is a counter with the gauge's name and "total".  OpenMetrics drops
    "total", so the two names would be the same.
    """
    words = [word for word in name.split("-") if word not in {"seconds", "ms", "ns"}]
    return [*words, "last"] if f"{name}-total" in MEANINGS else words


def _split(metric_group: str) -> tuple[str, dict[str, str]]:
    """Split a group of metrics into its name and the tag of its broker, if it has one."""
    name, _, node_id = metric_group.partition(_NODE)
    return name.removesuffix("-metrics"), {"node-id": node_id} if node_id else {}


def _description_of(name: Any) -> str:
    """Return a description that suits all metrics of a family, in the base unit."""
    description = str(name.description or name.name.replace("-", " "))
    description = description.partition(" for topic ")[0].rstrip(".")
    return re.sub(r"\bin (ms|milliseconds|nanoseconds)\b", "in seconds", description)


def _value(metric: Any, scale: float) -> float | None:
    """Return a metric's value in the base unit; None: there is none now, or it cannot be read."""
    try:
        value = float(metric.value()) * scale
    except Exception:
        log.debug("metric %s cannot be read", metric.metric_name, exc_info=True)
        return None
    return value if math.isfinite(value) else None
