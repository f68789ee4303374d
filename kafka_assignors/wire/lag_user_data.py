"""User data of the strategies that plan by lag: what a member owned, and the lag it knows of.

A section of history (empty where the member still holds what it owns, which the subscription says, or where
the strategy looks at no history), then a section of lag.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import Ownership, TopicPartition
from kafka_assignors.wire import history, lag_section
from kafka_assignors.wire.primitives import Reader

__all__ = ["decode", "encode"]


def encode(revoked: Ownership, generation: int, lags: Mapping[TopicPartition, int], age_ms: float) -> bytes:
    """Both sections."""
    return history.encode(revoked, generation) + lag_section.encode(lags, age_ms)


def decode(data: bytes) -> tuple[Ownership, int, dict[TopicPartition, int], int]:
    """What was revoked, in which generation, the lags (records), and their age (milliseconds).

    Raises:
        CodecError: one of the sections is not what it should be, or bytes are left over.
    """
    try:
        reader = Reader(data)
        revoked, generation = history.read(reader)
        lags, age_ms = lag_section.read(reader)
        reader.end()
    except CodecError as error:
        raise CodecError(f"lag user data: {error}") from None
    return revoked, generation, lags, age_ms
