"""All strategies by name."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.options import ConfigurationError
from kafka_assignors.strategies.cooperative_lag_aware import CooperativeLagAwareAssignor
from kafka_assignors.strategies.cooperative_sticky import CooperativeStickyAssignor
from kafka_assignors.strategies.failover import FailoverAssignor
from kafka_assignors.strategies.fair import FairAssignor
from kafka_assignors.strategies.fairest_sticky import FairestStickyAssignor
from kafka_assignors.strategies.lag_aware import LagAwareAssignor
from kafka_assignors.strategies.range import RangeAssignor
from kafka_assignors.strategies.roundrobin import RoundRobinAssignor
from kafka_assignors.strategies.sticky import StickyAssignor

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
    """Return the strategy of that name.

    Raises:
        ConfigurationError: unknown name.
    """
    if name not in STRATEGIES:
        raise ConfigurationError("strategy", f"unknown {name!r}, there is {', '.join(STRATEGIES)}")
    return STRATEGIES[name]
