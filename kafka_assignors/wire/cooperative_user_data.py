"""User data of ``cooperative-sticky``: the generation, as the Java client writes it, and a history behind it.

Java's ``CooperativeStickyAssignor`` writes a 4-byte generation (schema v0) and reads just that.  A member in
eager mode has revoked all it had, so it may not name anything in the subscription's owned partitions; what it
had goes behind the generation, where Java does not look, and lets our leader keep things in place all the
same.
"""

from __future__ import annotations

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire import history
from kafka_assignors.wire.primitives import Reader, int32

__all__ = ["decode", "encode"]


def encode(generation: int, revoked: Ownership | None = None) -> bytes:
    """Java's bytes, and the history of a member in eager mode behind them."""
    return int32(generation) + (history.encode(revoked, generation) if revoked else b"")


def decode(data: bytes) -> tuple[Ownership, int]:
    """What was revoked before joining, and the generation.

    Raises:
        CodecError: shorter than a generation, or what follows it is no history of ours.
    """
    if not data:
        return {}, NO_GENERATION
    try:
        generation = Reader(data).int32()
    except CodecError as error:
        raise CodecError(f"cooperative-sticky user data: {error}") from None
    if len(data) == 4:
        return {}, generation
    return history.decode(data[4:])
