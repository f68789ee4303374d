"""What users put around kafka-python's consumer.

- ``continuous``: `ContinuousConsumer`, which goes on during a cooperative rebalance.
"""

from __future__ import annotations

from kafka_assignors.consumer.continuous import make_continuous
from kafka_assignors.consumer.continuous.consumer import ContinuousConsumer

__all__ = ["ContinuousConsumer", "make_continuous"]
