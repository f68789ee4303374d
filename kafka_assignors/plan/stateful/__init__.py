"""KIP-441: plans active tasks, standbys and warm-ups of a topology with state.

- ``planner``: ``plan_stateful``.  ``model``: its input and result.  ``history``: the members' reports.
- ``actives``: the target of active tasks.  ``even``: the number of tasks of each member.  ``naming``: the
  tasks that move.  ``exchange``: prefers tasks with a copy.  ``within``: balance factors above 1.
- ``copies``, ``level``: the target of standbys.
- ``now``: the roles of this round, on the way to the target.
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
