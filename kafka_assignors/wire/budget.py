"""User data of an assignment in a large group: the leader's budget, and the member's partitions if need be.

The placeholder of a classic group, three letters, uint8 version 1, int32 budget; uint8 whether the
partitions follow, and they (`compact_ownership`).  Later versions may add bytes.

An assignment whose partitions follow here lists none in its own field, where each takes four bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka_assignors.errors import CodecError
from kafka_assignors.plan.model import Ownership
from kafka_assignors.wire import compact_ownership
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.primitives import Reader, int32, pack_ownership

_MARK = CLASSIC_ONLY + b"KAB\x01"
_HEAD = struct.Struct(">iB")


class Budget(NamedTuple):
    """The leader's budget for a member.

    Attributes:
        size: bytes that its claims and user data may take when it joins next.
        owned: its partitions; None: they are in the assignment's own field.
    """

    size: int
    owned: Ownership | None = None


def encode(budget: Budget) -> bytes:
    """Encode the user data of an assignment."""
    partitions = b"" if budget.owned is None else compact_ownership.pack(budget.owned)
    return _MARK + _HEAD.pack(budget.size, budget.owned is not None) + partitions


def decode(user_data: bytes) -> Budget | None:
    """Decode the user data of an assignment; None if it has no budget.

    Raises:
        CodecError: too short, or invalid partitions.
    """
    if not user_data.startswith(_MARK):
        return None
    reader = Reader(user_data[len(_MARK) :])
    try:
        size, follow = reader.int32(), reader.uint8()
        return Budget(size, compact_ownership.read(reader) if follow else None)
    except CodecError as error:
        raise CodecError(f"budget: {error}") from None


def unfold(assignment: bytes) -> bytes:
    """Return an assignment with its partitions in its own field; any other assignment as it is.

    Raises:
        CodecError: the partitions cannot be read.
    """
    if _MARK not in assignment:
        return assignment
    reader = Reader(assignment)
    version, listed = reader.int16(), reader.ownership()
    budget = decode(reader.raw(max(reader.int32(), 0)))
    if budget is None or budget.owned is None or listed:
        return assignment
    user_data = encode(Budget(budget.size))
    return version.to_bytes(2, "big") + pack_ownership(budget.owned) + int32(len(user_data)) + user_data
