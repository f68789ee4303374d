"""A reading as Prometheus metrics, with kafka-lag-exporter's names and labels."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.core import GaugeMetricFamily

from kafka_assignors.cli.exporter.reading import UNKNOWN, ClusterReading
from kafka_assignors.cli.exporter.server import KEPT_INTERVALS, ReadingPage
from kafka_assignors.cli.group_lag import PartitionLag


class Gauge(NamedTuple):
    """A metric's help and labels."""

    help: str
    labels: tuple[str, ...] = ()


_OF_PARTITION = ("group", "topic", "partition", "member_host", "consumer_id", "client_id")

_OF_READING: Mapping[str, Gauge] = {
    # kafka-lag-exporter's, with its help texts
    "kafka_partition_latest_offset": Gauge("Latest offset of a partition", ("topic", "partition")),
    "kafka_partition_earliest_offset": Gauge("Earliest offset of a partition", ("topic", "partition")),
    "kafka_consumergroup_group_offset": Gauge("Last group consumed offset of a partition", _OF_PARTITION),
    "kafka_consumergroup_group_lag": Gauge("Group offset lag of a partition", _OF_PARTITION),
    "kafka_consumergroup_group_lag_seconds": Gauge("Group time lag of a partition", _OF_PARTITION),
    "kafka_consumergroup_group_max_lag": Gauge("Max group offset lag", ("group",)),
    "kafka_consumergroup_group_max_lag_seconds": Gauge("Max group time lag", ("group",)),
    "kafka_consumergroup_group_sum_lag": Gauge("Sum of group offset lag", ("group",)),
    "kafka_consumergroup_group_topic_sum_lag": Gauge(
        "Sum of group offset lag across topic partitions", ("group", "topic")
    ),
    "kafka_consumergroup_poll_time_ms": Gauge("Group time poll time"),
    # ours
    "kafka_assignors_exporter_groups_left_out": Gauge("Groups that could not be read"),
}
METRICS: Mapping[str, Gauge] = {
    "kafka_assignors_exporter_up": Gauge("1 if the last reading of the cluster is complete, else 0"),
    "kafka_assignors_exporter_reading_age_seconds": Gauge("Age of the figures on this page"),
    **_OF_READING,
}
"""All metrics; each has the label ``cluster_name`` before its own."""


class _Figures(NamedTuple):
    """The metrics of a reading, made once for all scrapes."""

    read_at: float  # when the reading began, on the page's clock
    kept_s: float  # seconds after ``read_at`` until the metrics disappear
    families: list[GaugeMetricFamily]
    is_complete: bool


class LagPage(ReadingPage[ClusterReading]):
    """The metrics of the last reading."""

    def __init__(
        self, cluster_name: str, interval_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(interval_s, clock)
        self._cluster_name = cluster_name
        self._last: _Figures | None = None

    def publish(self, reading: ClusterReading) -> None:
        """Replace the figures; groups and partitions that no longer exist disappear.

        An incomplete reading replaces a complete one only when the complete one is too old.  Otherwise a sum
        would fall while a broker restarts.
        """
        figures = _Figures(
            self._clock() - reading.took_s,
            KEPT_INTERVALS * max(self._interval_s, reading.took_s),
            self._families(reading),
            reading.is_complete,
        )
        with self._lock:
            last, self._is_up = self._last, reading.is_complete
            if figures.is_complete or last is None or not last.is_complete or self._is_old(last):
                self._last = figures

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics without samples, so that a scrape can select some: ``/metrics?name[]=NAME``."""
        return [self._family(name) for name in METRICS]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics.  prometheus-client calls this at each scrape."""
        with self._lock:
            is_up, last = self._is_up, self._last
        yield self._family("kafka_assignors_exporter_up", is_up)
        if last is None:
            return
        age_s = self._clock() - last.read_at
        yield self._family("kafka_assignors_exporter_reading_age_seconds", age_s)
        if not self._is_old(last):
            yield from last.families

    def _is_old(self, figures: _Figures) -> bool:
        return self._clock() - figures.read_at > figures.kept_s

    def _families(self, reading: ClusterReading) -> list[GaugeMetricFamily]:
        """Return the metrics of a reading.  An unknown figure has no sample.

        The largest age of a group is left out while the age of a partition with a commit is unknown.
        Otherwise it could fall, and an alert would end.
        """
        families = {name: self._family(name) for name in _OF_READING}

        def add(name: str, value: float | None, *labels: str) -> None:
            if value is not None:
                families[name].add_metric((self._cluster_name, *labels), value)

        for (topic, number), offsets in sorted(reading.offsets.items()):
            add("kafka_partition_latest_offset", offsets.end, topic, str(number))
            add("kafka_partition_earliest_offset", offsets.begin, topic, str(number))
        for group, partitions in sorted(reading.groups.items()):
            by_topic = Counter[str]()
            for partition in partitions:
                labels = (group, *_labels(partition))
                add("kafka_consumergroup_group_offset", partition.committed, *labels)
                add("kafka_consumergroup_group_lag", partition.lag, *labels)
                add("kafka_consumergroup_group_lag_seconds", partition.seconds, *labels)
                if partition.lag is not None:
                    by_topic[partition.tp.topic] += partition.lag
            lags = [p.lag for p in partitions if p.lag is not None]
            committed = [p for p in partitions if p.committed is not None]
            ages = [p.seconds for p in committed if p.seconds is not None]
            add("kafka_consumergroup_group_max_lag", max(lags, default=None), group)
            if ages and len(ages) == len(committed):
                add("kafka_consumergroup_group_max_lag_seconds", max(ages), group)
            if lags:
                add("kafka_consumergroup_group_sum_lag", sum(lags), group)
            for topic, lag in by_topic.items():
                add("kafka_consumergroup_group_topic_sum_lag", lag, group, topic)
        add("kafka_consumergroup_poll_time_ms", reading.took_s * 1000)
        add("kafka_assignors_exporter_groups_left_out", len(reading.left_out))
        return list(families.values())

    def _family(self, name: str, value: float | None = None) -> GaugeMetricFamily:
        """Return a metric, with one sample if a value is given."""
        metric = METRICS[name]
        family = GaugeMetricFamily(name, metric.help, labels=("cluster_name", *metric.labels))
        if value is not None:
            family.add_metric((self._cluster_name,), value)
        return family


def _labels(partition: PartitionLag) -> tuple[str, ...]:
    topic, number = partition.tp
    if (owner := partition.owner) is None:
        return topic, str(number), UNKNOWN, UNKNOWN, UNKNOWN
    host = owner.host and f"/{owner.host}"  # the slash is kafka-lag-exporter's
    return topic, str(number), host, owner.member_id, owner.client_id
