"""The strategies that users pass to a consumer, one file each.  ``assignor`` has their common code."""

from __future__ import annotations

from kafka_assignors.strategies.cooperative_lag_aware import CooperativeLagAwareAssignor
from kafka_assignors.strategies.cooperative_sticky import CooperativeStickyAssignor
from kafka_assignors.strategies.failover import FailoverAssignor
from kafka_assignors.strategies.fair import FairAssignor
from kafka_assignors.strategies.fairest_sticky import FairestStickyAssignor
from kafka_assignors.strategies.lag_aware import LagAwareAssignor
from kafka_assignors.strategies.range import RangeAssignor
from kafka_assignors.strategies.registry import STRATEGIES, load_strategy, strategy
from kafka_assignors.strategies.roundrobin import RoundRobinAssignor
from kafka_assignors.strategies.sticky import StickyAssignor

__all__ = [
    "STRATEGIES",
    "CooperativeLagAwareAssignor",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "LagAwareAssignor",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "load_strategy",
    "strategy",
]
