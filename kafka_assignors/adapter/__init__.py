"""kafka-python's classes end here: one small class a strategy, over a base."""

from __future__ import annotations

from kafka_assignors.adapter.base import Assignor
from kafka_assignors.adapter.cooperative_lag_aware import CooperativeLagAwareAssignor
from kafka_assignors.adapter.cooperative_sticky import CooperativeStickyAssignor
from kafka_assignors.adapter.failover import FailoverAssignor
from kafka_assignors.adapter.fair import FairAssignor
from kafka_assignors.adapter.fairest_sticky import FairestStickyAssignor
from kafka_assignors.adapter.lag_aware import LagAwareAssignor
from kafka_assignors.adapter.listener import OwnershipListener
from kafka_assignors.adapter.load_feed import LoadFeed
from kafka_assignors.adapter.options import ConfigurationError, Options, PlanReport
from kafka_assignors.adapter.range import RangeAssignor
from kafka_assignors.adapter.roundrobin import RoundRobinAssignor
from kafka_assignors.adapter.sticky import StickyAssignor

__all__ = [
    "STRATEGIES",
    "Assignor",
    "ConfigurationError",
    "CooperativeLagAwareAssignor",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "LagAwareAssignor",
    "LoadFeed",
    "Options",
    "OwnershipListener",
    "PlanReport",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "strategy",
]

STRATEGIES: dict[str, type[Assignor]] = {
    kind.name: kind
    for kind in (
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
        FairAssignor,
        FairestStickyAssignor,
        CooperativeStickyAssignor,
        LagAwareAssignor,
        CooperativeLagAwareAssignor,
        FailoverAssignor,
    )
}
"""Name on the wire -> class."""


def strategy(name: str) -> type[Assignor]:
    """The strategy of that name.

    Raises:
        ConfigurationError: there is none.
    """
    if name not in STRATEGIES:
        raise ConfigurationError("strategy", f"unknown {name!r}, there is {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
