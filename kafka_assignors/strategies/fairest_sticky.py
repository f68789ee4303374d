"""``fairest-sticky``."""

from __future__ import annotations

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.members import MemberReport
from kafka_assignors.plan import Assignment, Claims, Group, Ownership, plan_fairest_sticky
from kafka_assignors.wire import history


class FairestStickyAssignor(Assignor):
    """Keeps every owned partition, and assigns the others as fairly as that allows.

    See ``plan_fairest_sticky``.
    """

    name = "fairest-sticky"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    is_classic_only = True

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_fairest_sticky(group, claims)

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return history.encode(revoked, generation) if revoked else b""

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        return MemberReport(*history.decode(user_data)) if user_data else MemberReport()
