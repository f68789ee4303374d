"""KIP-441: plans active tasks, standbys and warm-ups of a topology with state.

- ``planner``: ``plan_stateful``.  ``model``: its input and result.  ``history``: what members report.
- ``actives``: target of active tasks.  ``even``: number of tasks a member.  ``naming``: which tasks move.
- ``exchange``: moves tasks with a copy first.  ``within``: balance factors above 1.
- ``copies``, ``level``: target of standbys.  ``now``: the roles of this round, on the way to the target.
"""

from __future__ import annotations

from kafka_assignors.plan.stateful.model import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    StatefulPlan,
    Task,
    TaskPlanOptions,
)
from kafka_assignors.plan.stateful.planner import plan_stateful

__all__ = [
    "PlannedSubtopology",
    "StatefulGroup",
    "StatefulMember",
    "StatefulPlan",
    "Task",
    "TaskPlanOptions",
    "plan_stateful",
]
