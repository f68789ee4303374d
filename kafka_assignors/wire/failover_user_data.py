"""User data of ``failover``: the priority as the published Java assignor writes it, and a history behind it.

That assignor (of the post "Understanding Kafka partition assignment strategies"; it is in tests/golden/java)
writes a priority of 4 bytes, and reads just that.  What a member owned goes behind it, where Java does not
look, so that a leader that does not preempt knows who was active.
"""

from __future__ import annotations

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire import history
from kafka_assignors.wire.primitives import Reader, int32

__all__ = ["decode_history", "decode_priority", "encode"]

_PRIORITY = 4  # bytes


def encode(priority: int, revoked: Ownership | None = None, generation: int = NO_GENERATION) -> bytes:
    """Java's 4 bytes, and if there is any, what was owned in ``generation`` behind them.

    Args:
        priority: a signed 32-bit number, the highest is active.
        revoked: what the member owned.
        generation: when.
    """
    return int32(priority) + (history.encode(revoked, generation) if revoked else b"")


def decode_priority(data: bytes) -> int:
    """The priority, whatever is behind it.

    Raises:
        CodecError: there are not even 4 bytes.
    """
    try:
        return Reader(data).int32()
    except CodecError as error:
        raise CodecError(f"failover user data: {error}") from None


def decode_history(data: bytes) -> tuple[Ownership, int]:
    """What was owned, and in which generation; nothing where there are Java's 4 bytes only.

    Raises:
        CodecError: what follows the priority is no history of ours.
    """
    behind = data[_PRIORITY:]
    return history.decode(behind) if behind else ({}, NO_GENERATION)
