"""``cooperative-sticky`` (KIP-54's plan, KIP-429's rounds)."""

from __future__ import annotations

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.assignor.options import StickyOptions
from kafka_assignors.plan import Assignment, Claims, Group, Ownership, plan_sticky
from kafka_assignors.wire import cooperative_user_data


class CooperativeStickyAssignor(Assignor):
    """As ``sticky``, but moves take two rounds, so that members read on from the partitions they keep.

    May share a group with Java's ``CooperativeStickyAssignor`` and with kafka-python's.  It runs eager in a
    consumer whose list also has an eager strategy (the first bounce of an upgrade, KIP-429).  The member then
    joins without owned partitions, and its user data lists the partitions it revoked.
    """

    name = "cooperative-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    options_type = StickyOptions

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_sticky(group, claims)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return cooperative_user_data.encode(generation, revoked)

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        return MemberReport(*cooperative_user_data.decode(user_data))
