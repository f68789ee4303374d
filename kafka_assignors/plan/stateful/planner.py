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


def plan_stateful(group: StatefulGroup, options: StatefulOptions | None = None) -> StatefulPlan:
    """Plan the tasks of a group (KIP-441)."""
    history = History(group, options or StatefulOptions())
    names = [m.member_id for m in group.members]
    if not names:
        return StatefulPlan(*([MappingProxyType({})] * 3), probing=False)
    members = len(names)
    standing = standing_owners(history)
    nothing = np.zeros(members, np.int64)
    active = balanced_owners(history, standing, history.stateful, nothing)
    placed = active != NOBODY
    loads = np.bincount(active[placed], minlength=members)
    stateless = [s for s in range(len(history.copies)) if s not in history.stateful]
    rest = balanced_owners(history, standing, stateless, loads)

    standbys = Standbys(history, standing, active)
    copies = int(np.dot(np.diff(history.firsts), history.copies)) - int((rest != NOBODY).sum())
    low, high = limits(history, standbys.loads, copies)
    standbys.place(high)
    level(history, standbys, low, high)

    active = np.where(placed, active, rest)
    now = this_round(history, standing.tolist(), active.tolist(), standbys.of)
    warmups = now.warmups[: history.options.max_warmup_replicas]

    def named(pairs: Iterable[tuple[int, int]]) -> Tasks:
        found: list[list[int]] = [[] for _ in names]
        for task, member in pairs:
            found[member].append(task)
        return MappingProxyType(
            {
                name: tuple(history.tasks[t] for t in sorted(mine))
                for name, mine in zip(names, found, strict=True)
            }
        )

    return StatefulPlan(
        active=named(enumerate(now.active)),
        standby=named((t, m) for t, of in enumerate(now.standbys) for m in of),
        warmup=named((w.task, w.member) for w in warmups),
        probing=not now.settled,
        target_active=named(enumerate(active.tolist())),
        target_standby=named((t, m) for t, of in enumerate(standbys.of) for m in of),
    )


_ = npt
