"""``lag-aware`` (KIP-169)."""

from __future__ import annotations

from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.plan import NO_GENERATION, Assignment, Claims, Group, Ownership, plan_lag_aware


class LagAwareAssignor(LagAssignor):
    """Deals each topic alone, heaviest partition first: by fewest partitions, then by least lag; eager.

    Follows KIP-169 exactly.  See ``plan_lag_aware``.
    """

    name = "lag-aware"
    in_order = True
    sends_claims = False  # the plan ignores current ownership

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        return super().user_data({}, NO_GENERATION)

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_lag_aware(group)
