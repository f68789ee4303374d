"""User data of ``cooperative-sticky``: the Java client's generation, followed by an optional history.

Java's ``CooperativeStickyAssignor`` writes a 4-byte generation (schema v0) and reads only these bytes.  A
member in eager mode has revoked everything, so its subscription lists no owned partitions.  It writes the
revoked partitions after the generation, where Java does not read, so that our leader can keep them in place.

librdkafka and franz-go write `sticky_user_data`.  Only its generation counts, because their subscriptions
list the owned partitions.
"""

from __future__ import annotations

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import NO_GENERATION, Ownership
from kafka_assignors.wire import history, sticky_user_data
from kafka_assignors.wire.primitives import Reader, int32, named


def encode(generation: int, revoked: Ownership | None = None) -> bytes:
    """Encode Java's bytes, followed by the history of a member in eager mode."""
    return int32(generation) + (history.encode(revoked, generation) if revoked else b"")


def decode(data: bytes) -> tuple[Ownership, int]:
    """Decode the partitions revoked before joining, and the generation."""
    if not data:
        return {}, NO_GENERATION
    with named("cooperative-sticky user data"):
        generation = Reader(data).int32()
    if len(data) == 4:
        return {}, generation
    try:
        return history.decode(data[4:])
    except CodecError as error:
        try:
            return {}, sticky_user_data.decode(data)[1]
        except CodecError:
            raise error from None
