"""Where active tasks shall be: balanced, and next to what the members have.

First a number for each subtopology and member (``even``), then a name for each unit of it: tasks stay, and
those that have to go, go where their state is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.even import even_loads, even_shares
from kafka_assignors.plan.stateful.exchange import exchange
from kafka_assignors.plan.stateful.history import History
from kafka_assignors.plan.stateful.naming import name
from kafka_assignors.plan.stateful.within import is_beyond, is_within, only_what_it_takes

__all__ = ["balanced_owners", "standing_owners"]

Vector = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.int64]


def standing_owners(history: History) -> Vector:
    """By task: the member that could go on with it at once, or soonest.

    The owner, if nobody is more caught up; else, of the most caught-up members with state, the one that runs
    least (KIP-441, "Computing the most-caught-up instances").  ``NOBODY`` where nobody has state; stateless
    tasks, and those without a changelog, stand with their owner only.
    """
    owners = np.array(history.owner, np.int64)
    for task, owner in enumerate(history.owner):
        if owner != NOBODY and history.rank(task, history.process[owner]) != history.best_rank(task):
            owners[task] = NOBODY
    members = len(history.process)
    known = owners != NOBODY
    loads = np.bincount(owners[known], minlength=members).tolist()
    cells = _cells(history, owners)
    for task in np.flatnonzero(~known).tolist():
        best = history.best_rank(task)
        row = cells[history.sub[task]]
        choice: list[tuple[int, int, int]] = []
        for process, rank in history.ranks[task].items():
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
    copy of their state is.  The first two are exact.  With a balance factor above 1 nothing moves while what
    stands is within it; else some of the moves are made that lead to a factor of 1, no more than that takes.

    Where ``base`` itself is beyond the factor, balance in all comes before that in each subtopology: the
    tasks fill up what the members have.
    """
    target = np.full(len(history.tasks), NOBODY, np.int64)
    if not kinds:
        return target
    mine = np.isin(history.sub, kinds)
    target[mine] = standing[mine]
    supply = np.diff(history.firsts)[list(kinds)]
    owned = _cells(history, target)[list(kinds)]
    factor = history.options.balance_factor
    if bool((target[mine] != NOBODY).all()) and is_within(owned, base, factor):
        return target
    if is_beyond(base, factor):
        shares = even_loads(supply, owned, base)
    else:
        shares = even_shares(supply, owned, base, _liking(history, target, list(kinds), owned, base))
    name(history, target, list(kinds), shares - owned)
    exchange(history, target, standing, list(kinds), base)
    if factor > 1:
        only_what_it_takes(history, target, standing, kinds, base)
    return target


def _cells(history: History, owners: Vector) -> Matrix:
    """How many tasks of each subtopology each member has."""
    rows, members = len(history.firsts) - 1, len(history.process)
    known = owners != NOBODY
    cells: Matrix = np.bincount(
        history.sub[known] * members + owners[known], minlength=rows * members
    ).reshape(rows, members)
    return cells


def _liking(history: History, owners: Vector, kinds: list[int], owned: Matrix, base: Vector) -> Matrix:
    """Where one task more than the least share is liked, as copies are there, or begun, that would be used.

    Of cells that would get it, those with enough copies of tasks of others; of cells that have it, those
    without enough tasks of which one that would get it has a copy.  Copies of tasks that have to go, and
    copies that were begun for a move (``History.begun``), count more than once: so it goes on.
    """
    supply, people = np.diff(history.firsts)[kinds], len(base)
    floor, loads = supply // people, base + owned.sum(axis=0)
    gets = owned <= floor[:, None]
    too_much = (owned > -(-supply[:, None] // people)) | (
        loads > -(-int(base.sum() + supply.sum()) // people)
    )
    there = np.zeros((8, *owned.shape), np.int64)  # copies by how much they count
    leaves = np.zeros((8, *owned.shape), np.int64)  # tasks that could go to them
    for row, kind in enumerate(kinds):
        crews = {p: [m for m in crew if gets[row, m]] for p, crew in enumerate(history.crews)}
        for task in range(history.firsts[kind], history.firsts[kind + 1]):
            owner, most = int(owners[task]), 0
            for process in history.ready[task]:
                for member in crews[process]:
                    if member != owner:
                        weight = 1 + history.begun(task, owner, member)
                        weight += 4 * bool(owner == NOBODY or too_much[row, owner])
                        there[:weight, row, member] += 1
                        most = max(most, weight)
            if owner != NOBODY:
                leaves[:most, row, owner] += 1
    wanted = np.abs(floor[:, None] - owned) + gets
    liking: Matrix = np.where(gets, there >= wanted, -(leaves >= wanted).astype(np.int64)).sum(axis=0)
    return liking
