"""Additions to kafka-python's consumer.

- ``continuous``: `ContinuousConsumer`, which delivers records during a cooperative rebalance.
- ``listener``: `OwnershipListener`, which reports the partitions that a member gains and loses.
"""

from __future__ import annotations

from kafka_assignors.consumer.continuous import ContinuousConsumer, make_continuous

__all__ = ["ContinuousConsumer", "make_continuous"]
