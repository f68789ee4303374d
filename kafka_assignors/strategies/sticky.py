"""``sticky`` (KIP-54)."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.assignor.options import StickyOptions
from kafka_assignors.plan import NO_GENERATION, Assignment, Claims, Group, Ownership, plan_sticky
from kafka_assignors.wire import sticky_user_data


class StickyAssignor(Assignor):
    """The fairest plan with the fewest moves; eager.  See ``plan_sticky``.

    May share a group with Java's ``StickyAssignor`` and with kafka-python's: it writes Java's bytes and reads
    both.
    """

    name = "sticky"
    options_type = StickyOptions

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_sticky(group, claims)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return b"" if generation == NO_GENERATION else sticky_user_data.encode(revoked, generation)

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        return MemberReport(*sticky_user_data.decode(user_data)) if user_data else MemberReport()
