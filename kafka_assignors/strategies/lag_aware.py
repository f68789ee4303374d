"""``lag-aware`` (KIP-169)."""

from __future__ import annotations

from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.plan import NO_GENERATION, Assignment, Claims, Group, Ownership, plan_lag_aware


class LagAwareAssignor(LagAssignor):
    """Assigns each topic on its own, the partition with the most lag first (KIP-169); eager.

    Each partition goes to the member with the fewest partitions of the topic, then to the one with the least
    lag.  See ``plan_lag_aware``.
    """

    name = "lag-aware"
    in_order = True
    sends_claims = False  # the plan ignores current ownership

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return super().user_data({}, NO_GENERATION)

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_lag_aware(group)
