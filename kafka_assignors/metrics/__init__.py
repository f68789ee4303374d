"""The metrics of a consumer, in kafka-python's own registry.

- ``names``: each metric's name, unit and meaning, in tables.
- ``stats``: average and maximum, NaN without a value, as in Kafka's Java client.
- ``plan_figures``: the figures of the leader's last plan.
- ``recorder``: `Recorder`, which records the rebalances and plans of one consumer, and adds gauges.
- ``prometheus``, ``otel``: export the registry of a consumer; ``exported``: what both share.
"""

from __future__ import annotations

from kafka_assignors.metrics.names import STATEFUL, STATEFUL_GROUP
from kafka_assignors.metrics.recorder import NO_METRICS, Recorder

__all__ = ["NO_METRICS", "STATEFUL", "STATEFUL_GROUP", "Recorder"]
