"""Statistics over kafka-python's sample windows that are NaN without a value, as in Kafka's Java client.

Without a value kafka-python's own average is 0, and its maximum minus infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.metrics import stats


class Avg(stats.Avg):
    """The average of the values in the windows."""

    def combine(self, samples: Sequence[Any], config: object, now: float) -> float:
        """As inherited; NaN without a value."""
        return float(super().combine(samples, config, now)) if _has_value(samples) else float("nan")


class Max(stats.Max):
    """The largest value in the windows."""

    def combine(self, samples: Sequence[Any], config: object, now: float) -> float:
        """As inherited; NaN without a value."""
        return float(super().combine(samples, config, now)) if _has_value(samples) else float("nan")


def _has_value(samples: Sequence[Any]) -> bool:
    return any(sample.event_count for sample in samples)
