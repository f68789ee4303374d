"""``lag-aware`` (KIP-169)."""

from __future__ import annotations

from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.plan import NO_GENERATION, Assignment, Claims, Group, Ownership, plan_lag_aware

__all__ = ["LagAwareAssignor"]


class LagAwareAssignor(LagAssignor):
    """Topic by topic: as many partitions for everybody, then as little lag as can be; eager.

    KIP-169 to the letter.  See ``plan_lag_aware``.
    """

    name = "lag-aware"
    in_order = True

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return super().user_data({}, NO_GENERATION)  # who had what has no say in the plan

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_lag_aware(group)
