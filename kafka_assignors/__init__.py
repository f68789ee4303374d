"""Partition-assignment strategies for kafka-python: fair, sticky, cooperative, and able to say why."""

from __future__ import annotations

from kafka_assignors.adapter import (
    Assignor,
    ConfigurationError,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairAssignor,
    FairestStickyAssignor,
    Options,
    OwnershipListener,
    PlanReport,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    strategy,
)
from kafka_assignors.errors import KafkaAssignorsError, OptionError

__version__ = "0.1.0"

__all__ = [
    "Assignor",
    "ConfigurationError",
    "CooperativeStickyAssignor",
    "FailoverAssignor",
    "FairAssignor",
    "FairestStickyAssignor",
    "KafkaAssignorsError",
    "OptionError",
    "Options",
    "OwnershipListener",
    "PlanReport",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "strategy",
]
