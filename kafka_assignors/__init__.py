"""Partition-assignment strategies for kafka-python: fair, sticky, cooperative, and able to say why."""

from __future__ import annotations

from kafka_assignors.adapter import (
    Assignor,
    ConfigurationError,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    FairestStickyAssignor,
    LagAwareAssignor,
    LoadFeed,
    Options,
    OwnershipListener,
    PlanReport,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    strategy,
)
from kafka_assignors.consumer import ContinuousConsumer, make_continuous
from kafka_assignors.errors import KafkaAssignorsError, OptionError
from kafka_assignors.lag import RebalanceOnSkew

__version__ = "0.1.0"

__all__ = [
    "Assignor",
    "ConfigurationError",
    "ContinuousConsumer",
    "CooperativeLagAwareAssignor",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "KafkaAssignorsError",
    "LagAwareAssignor",
    "LoadFeed",
    "OptionError",
    "Options",
    "OwnershipListener",
    "PlanReport",
    "RangeAssignor",
    "RebalanceOnSkew",
    "RoundRobinAssignor",
    "StickyAssignor",
    "make_continuous",
    "strategy",
]
