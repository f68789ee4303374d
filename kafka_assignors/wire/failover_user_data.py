"""User data of ``failover``: the published Java assignor's priority, followed by an optional history.

That assignor (from the post "Understanding Kafka partition assignment strategies", in tests/golden/java)
writes a 4-byte priority and reads only these bytes.  Our member appends the partitions it owned, where Java
does not read.  From them, a leader that does not preempt knows the active member.
"""

from __future__ import annotations

from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire import history
from kafka_assignors.wire.primitives import Reader, int32, named

_PRIORITY = 4  # bytes


def encode(priority: int, revoked: Ownership | None = None, generation: int = NO_GENERATION) -> bytes:
    """Encode Java's 4 bytes, followed by the history if there is any.

    The priority is a signed number; the member with the highest is active.
    """
    return int32(priority) + (history.encode(revoked, generation) if revoked else b"")


@named("failover user data")
def decode_priority(data: bytes) -> int:
    """Decode the priority; ignore the bytes after it."""
    return Reader(data).int32()


def decode_history(data: bytes) -> tuple[Ownership, int]:
    """Decode the partitions owned, and their generation; no partitions if there are only Java's 4 bytes."""
    section = data[_PRIORITY:]
    return history.decode(section) if section else ({}, NO_GENERATION)
