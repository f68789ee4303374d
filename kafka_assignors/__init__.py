"""Partition-assignment strategies for kafka-python: fair, sticky, cooperative, and able to say why."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.options import ConfigurationError, Options, PlanReport
from kafka_assignors.consumer import ContinuousConsumer, make_continuous
from kafka_assignors.consumer.listener import OwnershipListener
from kafka_assignors.errors import KafkaAssignorsError, OptionError
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.strategies import (
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    FairestStickyAssignor,
    LagAwareAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    strategy,
)

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
