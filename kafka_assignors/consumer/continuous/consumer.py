"""``ContinuousConsumer``: a ``KafkaConsumer`` that delivers records during a cooperative rebalance."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer

from kafka_assignors.consumer.continuous import make_continuous


class ContinuousConsumer(KafkaConsumer):
    """A ``KafkaConsumer`` whose ``poll()`` delivers records during a rebalance, of the partitions it keeps.

    For cooperative strategies.  With an eager strategy, without a group, or (after one warning) with an
    unknown version of kafka-python it behaves as a ``KafkaConsumer``.

    Args:
        *topics: as for ``KafkaConsumer``.
        **configs: as for ``KafkaConsumer``.
    """

    def __init__(self, *topics: str, **configs: Any) -> None:
        super().__init__(*topics, **configs)
        make_continuous(self)
