"""Partition-assignment strategies for kafka-python: fair, sticky, cooperative and explainable."""

from __future__ import annotations

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.options import ConfigurationError, Options, PlanReport
from kafka_assignors.consumer import ContinuousConsumer, make_continuous
from kafka_assignors.consumer.listener import OwnershipListener
from kafka_assignors.errors import KafkaAssignorsError, OptionError, PlanError
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.plan import Assignment, Claims, Group, Member, Planned, TopicPartition
from kafka_assignors.plan.cause import RebalanceCause
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
    "Assignment",
    "Assignor",
    "Claims",
    "ConfigurationError",
    "ContinuousConsumer",
    "CooperativeLagAwareAssignor",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "Group",
    "KafkaAssignorsError",
    "LagAwareAssignor",
    "LoadFeed",
    "Member",
    "OptionError",
    "Options",
    "OwnershipListener",
    "PlanError",
    "PlanReport",
    "Planned",
    "RangeAssignor",
    "RebalanceCause",
    "RebalanceOnSkew",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "StickyAssignor",
    "TopicPartition",
    "make_continuous",
    "strategy",
]
