"""``ContinuousConsumer``: a ``KafkaConsumer`` that goes on during a cooperative rebalance."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer

from kafka_assignors.consumer.continuous import make_continuous

__all__ = ["ContinuousConsumer"]


class ContinuousConsumer(KafkaConsumer):
    """A ``KafkaConsumer`` whose ``poll()`` goes on with the partitions it keeps during a rebalance.

    For cooperative strategies.  With an eager strategy, without a group, or with a kafka-python whose parts
    are not known here (one warning), it is a ``KafkaConsumer``.

    Args:
        *topics: as for ``KafkaConsumer``.
        **configs: as for ``KafkaConsumer``.
    """

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **configs)
        make_continuous(self)
