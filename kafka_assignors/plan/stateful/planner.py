"""KIP-441's planner: a target close to the current assignment, and the roles of this round."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.actives import balanced_owners, standing_owners
from kafka_assignors.plan.stateful.copies import Standbys
from kafka_assignors.plan.stateful.history import TaskHistory
from kafka_assignors.plan.stateful.level import copy_limits, level
from kafka_assignors.plan.stateful.model import StatefulGroup, StatefulPlan, TaskPlanOptions, Tasks
from kafka_assignors.plan.stateful.now import roles_now


def plan_stateful(group: StatefulGroup, options: TaskPlanOptions | None = None) -> StatefulPlan:
    """Plan the tasks of a group: the target, and the roles possible now.

    Goals of the target, in order:

    1. Stateful active tasks are balanced over members, in total and in each subtopology (KIP-441, "Defining
       balance").  Among balanced targets, the fewest tasks leave the member that could run them soonest
       (their owner, unless another is more caught up); then few tasks move to a member without a copy: as few
       as the search finds.
    2. Standbys are in other processes, and in other racks where possible.  They make the members' active
       tasks and standbys as even as these rules allow, with the fewest new copies that the search finds.
    3. Stateless tasks make the members' active tasks even, with the fewest moves.

    The roles of this round ("Assignment Algorithm"): a task moves to its target if no member is more caught
    up; otherwise the most caught-up member runs it.  The next most caught-up members are standbys, on a tie
    those of the target.  Members of the target without a role yet get warm-ups, at most
    ``max_warmup_replicas`` in the group, those already begun first.  Stateless tasks are added to the
    stateful ones of this round, goals in order: the least sum of squares of the members' active tasks, in
    total and then in each stateless subtopology; the fewest moves.  Claims are resolved as in
    ``TaskHistory``; whatever members report, the plan does not fail.

    With a ``balance_factor`` above 1, members may differ by that many tasks, and stateless tasks are even in
    each subtopology but may not be in total.

    If active tasks and standbys are balanced, all copies are caught up, and its standbys have the wanted
    number and racks, the plan changes nothing.  Ties: members by process and id, tasks by subtopology and
    number.  Equal groups in any order have equal plans.

    Cost: near linear in tasks and moves; 10,000 tasks on 100 members take some tenths of a second
    (docs/benchmarks.md).
    """
    history = TaskHistory(group, options or TaskPlanOptions())
    if not group.members:
        empty: Tasks = MappingProxyType({})
        return StatefulPlan(empty, empty, empty, probing=False)
    members = len(group.members)
    standing = standing_owners(history)
    active = balanced_owners(history, standing, history.stateful, np.zeros(members, np.int64))
    stateful = active != NO_MEMBER

    standbys = Standbys(history, standing, active)
    low, high = copy_limits(history, int(history.copies_of[stateful].sum()))
    standbys.place(high)
    level(history, standbys, low, high)

    now = roles_now(history, standing.tolist(), active.tolist(), standbys.of)
    stateless = [i for i, subtopology in enumerate(group.subtopologies) if not subtopology.stateful]

    def filled_up(owners: Vector) -> Vector:
        loads = np.bincount(owners[stateful], minlength=members)
        return np.where(stateful, owners, balanced_owners(history, standing, stateless, loads))

    active_now = filled_up(np.array(now.active, np.int64))
    target = active_now if now.active == active.tolist() else filled_up(active)
    warmups = now.warmups[: history.options.max_warmup_replicas]
    return StatefulPlan(
        active=_named(history, enumerate(active_now.tolist())),
        standby=_named(history, ((task, m) for task, of in enumerate(now.standbys) for m in of)),
        warmup=_named(history, ((warmup.task, warmup.member) for warmup in warmups)),
        probing=not now.is_target,
        target_active=_named(history, enumerate(target.tolist())),
        target_standby=_named(history, ((task, m) for task, of in enumerate(standbys.of) for m in of)),
    )


def _named(history: TaskHistory, roles: Iterable[tuple[int, int]]) -> Tasks:
    """Return the tasks of each member id, from pairs of task and member numbers."""
    members = history.group.members
    tasks_of: list[list[int]] = [[] for _ in members]
    for task, member in roles:
        tasks_of[member].append(task)
    tasks = history.tasks
    return MappingProxyType(
        {
            member.member_id: tuple([tasks[t] for t in sorted(numbers)])
            for member, numbers in zip(members, tasks_of, strict=True)
        }
    )
