"""KIP-441: who runs which task of a topology with state, who keeps copies, who warms up."""

from __future__ import annotations

from kafka_assignors.plan.stateful.model import (
    StatefulGroup,
    StatefulMember,
    StatefulOptions,
    StatefulPlan,
    Subtopology,
    Task,
)
from kafka_assignors.plan.stateful.planner import plan_stateful

__all__ = [
    "StatefulGroup",
    "StatefulMember",
    "StatefulOptions",
    "StatefulPlan",
    "Subtopology",
    "Task",
    "plan_stateful",
]
