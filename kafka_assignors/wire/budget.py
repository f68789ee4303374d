"""User data of an assignment in a large group: the member's budget, and perhaps its partitions.

The budget is the number of bytes that claims and user data may take when the member joins next.

- the byte ``CLASSIC_ONLY``, three letters, uint8 version 1;
- int32 budget; -1: the last one stays, 2**31-1: no limit;
- uint8 whether the partitions follow, and the partitions (`compact_ownership`);
- int32 number of bytes, and the arrival `rates` of the partitions, known to the leader from the last owners.

Readers ignore bytes after these, so later releases may append fields.

An assignment is folded if its partitions are here.  Its own field for partitions is then empty, because each
partition would take four bytes there.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka_assignors.plan.model import Ownership
from kafka_assignors.wire import compact_ownership
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.primitives import Reader, named, pack_ownership, sized

_MARK = CLASSIC_ONLY + b"KAB\x01"
_NONE = -1
NO_LIMIT = 2**31 - 1
"""A size that ends the last limit.  An older member reads it as a limit of 2 GiB, and sends all it has."""
_HEAD = struct.Struct(">iB")


class MemberBudget(NamedTuple):
    """The leader's budget for a member.

    Attributes:
        size: maximum bytes of the member's claims and user data when it joins next; None: the last limit
            stays; NO_LIMIT: the last limit ends.
        owned: the member's partitions; None: the assignment is not folded.
        rates: packed rates of these partitions, by topic and number; see `rates.unpack`.
    """

    size: int | None
    owned: Ownership | None = None
    rates: bytes = b""


def encode(budget: MemberBudget) -> bytes:
    """Encode the user data of an assignment."""
    partitions = b"" if budget.owned is None else compact_ownership.pack(budget.owned)
    head = _HEAD.pack(_NONE if budget.size is None else budget.size, budget.owned is not None)
    return _MARK + head + partitions + sized(budget.rates)


def decode(user_data: bytes) -> MemberBudget | None:
    """Decode the user data of an assignment; None if it has no budget."""
    if not user_data.startswith(_MARK):
        return None
    reader = Reader(user_data[len(_MARK) :])
    with named("budget"):
        size, follow = reader.int32(), reader.uint8()
        owned = compact_ownership.read(reader) if follow else None
        return MemberBudget(None if size == _NONE else size, owned, reader.sized())


def unfold(assignment: bytes) -> bytes:
    """Move the partitions of a folded assignment to the field for partitions; return others unchanged."""
    if _MARK not in assignment:
        return assignment
    reader = Reader(assignment)
    version, listed = reader.int16(), reader.ownership()
    budget = decode(reader.raw(max(reader.int32(), 0)))
    if budget is None or budget.owned is None or listed:
        return assignment
    user_data = encode(MemberBudget(budget.size, rates=budget.rates))
    return version.to_bytes(2, "big", signed=True) + pack_ownership(budget.owned) + sized(user_data)
