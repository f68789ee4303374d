"""KIP-441's planner: a target next to what the members have, and a way there on which nothing waits."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.actives import balanced_owners, standing_owners
from kafka_assignors.plan.stateful.copies import Standbys
from kafka_assignors.plan.stateful.history import History
from kafka_assignors.plan.stateful.level import level, limits
from kafka_assignors.plan.stateful.model import StatefulGroup, StatefulOptions, StatefulPlan, Tasks
from kafka_assignors.plan.stateful.now import this_round

__all__ = ["plan_stateful"]

Vector = npt.NDArray[np.int64]


def plan_stateful(group: StatefulGroup, options: StatefulOptions | None = None) -> StatefulPlan:
    """Plan the tasks of a group: the target, and what of it can be had now.

    The target, goals in order:

    1. stateful active tasks are balanced over members, in all and in each subtopology (KIP-441, "Defining
       balance"); of such targets one with the fewest tasks that leave who could go on with them; of those,
       one by which as few as can be found go where no copy of their state is;
    2. standbys are in other processes, in other racks where that can be had, and make the members' stateful
       tasks, active and standby, as even as those allow, with as few copies to be begun as can be found;
    3. stateless tasks make the members' active tasks even, with the fewest moves.

    Now ("Assignment Algorithm"): a task goes where it shall be if nobody is more caught up than that member;
    else it stays with, or goes to, the most caught-up one.  Standbys are with the next most caught-up ones,
    those of the target first.  Members of the target that have neither role yet are warmed up, at most
    ``max_warmup_replicas`` in the group; those begun come first.  Stateless tasks fill up the stateful ones
    of this round, goals in order: the least sum of squares of the members' active tasks, in all and then in
    each stateless subtopology; the fewest moves.  Members without a claim to be trusted have no history
    (``History``); the plan never fails for what a member says.

    In balance with everything caught up, the plan is what the members have.  Ties: members by process and
    id, tasks by subtopology and number; equal groups have equal plans, in whatever order they are told.

    Cost: near linear in the tasks and in what has to move; 10,000 tasks on 100 members take some tenths of a
    second (docs/benchmarks.md).

    Args:
        group: who is there, with what, and what there is to run.
        options: as the user chose.
    """
    history = History(group, options or StatefulOptions())
    if not group.members:
        nobody: Tasks = MappingProxyType({})
        return StatefulPlan(nobody, nobody, nobody, probing=False)
    members = len(group.members)
    standing = standing_owners(history)
    active = balanced_owners(history, standing, history.stateful, np.zeros(members, np.int64))
    stateful = active != NOBODY

    standbys = Standbys(history, standing, active)
    low, high = limits(history, int(history.copies_of[stateful].sum()))
    standbys.place(high)
    level(history, standbys, low, high)

    now = this_round(history, standing.tolist(), active.tolist(), standbys.of)
    stateless = [s for s, kind in enumerate(group.subtopologies) if not kind.stateful]

    def filled_up(owners: Vector) -> Vector:
        """With the stateless tasks."""
        loads = np.bincount(owners[stateful], minlength=members)
        return np.where(stateful, owners, balanced_owners(history, standing, stateless, loads))

    active_now = filled_up(np.array(now.active, np.int64))
    target = active_now if now.active == active.tolist() else filled_up(active)
    warmups = now.warmups[: history.options.max_warmup_replicas]
    return StatefulPlan(
        active=_named(history, enumerate(active_now.tolist())),
        standby=_named(history, ((task, m) for task, of in enumerate(now.standbys) for m in of)),
        warmup=_named(history, ((wanted.task, wanted.member) for wanted in warmups)),
        probing=not now.settled,
        target_active=_named(history, enumerate(target.tolist())),
        target_standby=_named(history, ((task, m) for task, of in enumerate(standbys.of) for m in of)),
    )


def _named(history: History, roles: Iterable[tuple[int, int]]) -> Tasks:
    """Pairs of a task and a member, by the member's id."""
    members = history.group.members
    found: list[list[int]] = [[] for _ in members]
    for task, member in roles:
        found[member].append(task)
    tasks = history.tasks
    return MappingProxyType(
        {
            member.member_id: tuple([tasks[t] for t in sorted(mine)])
            for member, mine in zip(members, found, strict=True)
        }
    )
