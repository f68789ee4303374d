"""``cooperative-lag-aware``."""

from __future__ import annotations

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.adapter.lag_assignor import LagAssignor
from kafka_assignors.adapter.lag_options import CooperativeLagOptions
from kafka_assignors.plan import Assignment, Claims, Group, plan_cooperative_lag_aware

__all__ = ["CooperativeLagAwareAssignor"]


class CooperativeLagAwareAssignor(LagAssignor):
    """The least lag for whoever has the most, over all topics, and no move that does not pay.

    In cooperative rounds (KIP-429).  See ``plan_cooperative_lag_aware``.
    """

    name = "cooperative-lag-aware"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    by_rack = True  # while there is no lag
    options_type = CooperativeLagOptions
    over_topics = True
    options: CooperativeLagOptions

    @property
    def pays_from(self) -> float:
        return self.options.min_improvement

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_cooperative_lag_aware(
            group,
            claims,
            max_partition_skew=self.options.max_partition_skew,
            min_improvement=self.options.min_improvement,
        )
