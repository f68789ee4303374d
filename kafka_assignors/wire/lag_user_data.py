"""User data of the strategies that plan by lag: the partitions a member owned, and the lag it knows.

A history section, then a lag section.  The history is empty if the member still holds its partitions, which
its subscription then lists, or if the strategy ignores history.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import Ownership, TopicPartition
from kafka_assignors.wire import history, lag_section
from kafka_assignors.wire.primitives import Reader


def encode(revoked: Ownership, generation: int, lags: Mapping[TopicPartition, int], age_ms: float) -> bytes:
    """Encode both sections.  Lags are in records."""
    return history.encode(revoked, generation) + lag_section.encode(lags, age_ms)


def decode(data: bytes) -> tuple[Ownership, int, dict[TopicPartition, int], int]:
    """Decode the partitions revoked, their generation, the lags (records), and their age (milliseconds).

    Raises:
        CodecError: a section is invalid, or bytes are left over.
    """
    try:
        reader = Reader(data)
        revoked, generation = history.read(reader)
        lags, age_ms = lag_section.read(reader)
        reader.end()
    except CodecError as error:
        raise CodecError(f"lag user data: {error}") from None
    return revoked, generation, lags, age_ms
