"""Statistics over kafka-python's sample windows that are NaN without a value, as in Kafka's Java client.

Without a value kafka-python's own average is 0, and its maximum minus infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.metrics import stats


class _NanWithoutValue:
    def combine(self, samples: Sequence[Any], config: object, now: float) -> float:
        """Combine as inherited; return NaN without a value."""
        has_value = any(sample.event_count for sample in samples)
        return float(super().combine(samples, config, now)) if has_value else float("nan")  # type: ignore[misc]


class Avg(_NanWithoutValue, stats.Avg):
    """The average of the values in the windows."""


class Max(_NanWithoutValue, stats.Max):
    """The largest value in the windows."""
