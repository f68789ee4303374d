"""A consumer with a registry of kafka-python, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.metrics import AnonMeasurable, MetricConfig, Metrics


class Member:
    """As ``KafkaConsumer``, as far as exporters use it."""

    def __init__(self, client_id: str = "c") -> None:
        self.readings = 0
        self.registry = Metrics(MetricConfig(tags={"client-id": client_id}))

    def metrics(self, raw: bool = False) -> Any:
        assert raw
        self.readings += 1
        return self.registry.metrics.copy()

    def add(
        self,
        name: str,
        value: float | Callable[[], float],
        group: str = "consumer-metrics",
        description: str = "",
        **tags: str,
    ) -> None:
        """Add a metric; values that are functions are called when they are read."""
        read = value if callable(value) else lambda: value
        metric_name = self.registry.metric_name(name, group, description, tags)
        self.registry.add_metric(metric_name, AnonMeasurable(lambda *_: read()))

    def close(self) -> None:
        self.registry.close()
