"""Where active tasks shall be: balanced, and next to what the members have.

First a number for each subtopology and member (``even``), then a name for each unit of it: tasks stay, and
those that have to go, go where their state is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.deal import turns
from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.even import even_shares
from kafka_assignors.plan.stateful.factor import give_back
from kafka_assignors.plan.stateful.history import History

__all__ = ["balanced_owners", "standing_owners"]

Vector = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]


def standing_owners(history: History) -> Vector:
    """By task: the member that could go on with it at once, or soonest.

    The owner; without one, of the most caught-up members (KIP-441) with state the one that runs least.
    ``NOBODY`` where nobody has state; stateless tasks have it with their owner only.
    """
    owners = np.array(history.owner, np.int64)
    members = len(history.process)
    known = owners != NOBODY
    loads = np.bincount(owners[known], minlength=members).tolist()
    cells = _cells(history, owners)
    for task in np.flatnonzero(~known).tolist():
        ranks = history.ranks[task]
        best = history.best_rank(task)
        row = cells[history.sub[task]]
        choice: list[tuple[int, int, int]] = []
        for process, rank in ranks.items():
            if rank == best:
                # In a process the one that tails the copy, else any.
                mine = [m for m in history.standbys[task] if history.process[m] == process]
                choice += [(loads[m], int(row[m]), m) for m in mine or history.crews[process]]
        if choice:
            member = min(choice)[2]
            owners[task] = member
            loads[member] += 1
            row[member] += 1
    return owners


def balanced_owners(history: History, standing: Vector, kinds: Sequence[int], base: Vector) -> Vector:
    """By task of the subtopologies ``kinds``: who shall run it; of others ``NOBODY``.

    Goals in order: balance in all (with ``base``, what each member runs beside these) and in each
    subtopology; as few tasks as can be leave ``standing``; of those that do, as few as can be go where no
    copy of their state is.  The first two are exact for a balance factor of 1.
    """
    target = np.full(len(history.tasks), NOBODY, np.int64)
    if not kinds:
        return target
    mine = np.isin(history.sub, kinds)
    target[mine] = standing[mine]
    supply = np.diff(history.firsts)[list(kinds)]
    owned = _cells(history, target)[list(kinds)]
    factor = history.options.balance_factor
    if bool((target[mine] != NOBODY).all()) and _is_within(owned, base, factor):
        return target
    shares = even_shares(supply, owned, base)
    _name(history, target, list(kinds), shares - owned)
    if factor > 1:
        give_back(history, target, standing, list(kinds), base)
    return target


def _cells(history: History, owners: Vector) -> Matrix:
    """How many tasks of each subtopology each member has."""
    rows, members = len(history.firsts) - 1, len(history.process)
    known = owners != NOBODY
    cells: Matrix = np.bincount(
        history.sub[known] * members + owners[known], minlength=rows * members
    ).reshape(rows, members)
    return cells


def _is_within(cells: Matrix, base: Vector, factor: int) -> bool:
    loads = base + cells.sum(axis=0)
    return int(np.ptp(loads)) <= factor and int(np.ptp(cells, axis=1).max(initial=0)) <= factor


def _name(history: History, target: Vector, kinds: list[int], change: Matrix) -> None:
    """Give tasks to members that shall have more of a subtopology, from nobody and those that shall have less.

    First those whose state is there already, then those that lack a copy anyway, then others.
    """
    free: list[int] = []
    cells: list[int] = []
    members = change.shape[1]
    for row, kind in enumerate(kinds):
        need = {m: int(change[row, m]) for m in np.flatnonzero(change[row] > 0).tolist()}
        if not need:
            continue
        first, end = history.firsts[kind], history.firsts[kind + 1]
        give = {m: -int(change[row, m]) for m in np.flatnonzero(change[row] < 0).tolist()}
        may_go = [t for t in range(first, end) if int(target[t]) in give]
        _follow_state(history, target, may_go, give, need)
        leaving = _leaving(history, target, may_go, give)
        leaving += [t for t in range(first, end) if target[t] == NOBODY]
        free += sorted(leaving)
        cells += [row * members + m for m in sorted(need) if need[m]]
        change[row] = 0
        for m, units in need.items():
            change[row, m] = units
    if free:
        where = np.array(cells, np.int64)
        target[free] = turns(where, change.reshape(-1)[where], members)


def _follow_state(
    history: History, target: Vector, may_go: list[int], give: dict[int, int], need: dict[int, int]
) -> None:
    """Move what can go to where its state is, the most caught-up and those that move for the first time first."""
    processes: dict[int, list[int]] = {}
    for member in need:
        processes.setdefault(history.process[member], []).append(member)
    ways = []
    for task in may_go:
        for process, rank in history.ranks[task].items():
            for member in processes.get(process, ()):
                ways.append((history.owner[task] == NOBODY, rank, task, member))
    gone = set()
    for _, _, task, member in sorted(ways):
        owner = int(target[task])
        if task not in gone and need[member] and give[owner]:
            gone.add(task)
            need[member] -= 1
            give[owner] -= 1
            target[task] = member
    may_go[:] = [task for task in may_go if task not in gone]


def _leaving(history: History, target: Vector, may_go: list[int], give: dict[int, int]) -> list[int]:
    """Which others go: those that lack a copy, so that one has to be built anyway, then the first ones."""
    copies = history.copies
    sub = history.sub

    def order(task: int) -> tuple[bool, bool, int]:
        return (
            len(history.ranks[task]) >= copies[sub[task]],
            history.owner[task] == NOBODY,
            task,
        )

    leaving = []
    for task in sorted(may_go, key=order):
        owner = int(target[task])
        if give[owner]:
            give[owner] -= 1
            leaving.append(task)
    return leaving
