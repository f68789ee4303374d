"""The target of active tasks: balanced, and close to the current owners.

First the number of tasks of each subtopology for each member (``even``), then the tasks themselves
(``naming``): a task stays if it can, or moves to a member with its state if there is one.
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Matrix, Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.even import even_loads, even_shares
from kafka_assignors.plan.stateful.exchange import exchange
from kafka_assignors.plan.stateful.history import TaskHistory
from kafka_assignors.plan.stateful.naming import pick_tasks
from kafka_assignors.plan.stateful.within import is_beyond, is_within, undo_needless_moves, without_moves


def standing_owners(history: TaskHistory) -> Vector:
    """By task: its *standing owner*, the member that could run it at once, or soonest.

    This is the owner if no member is more caught up; otherwise, of the most caught-up members with state, the
    one with the fewest tasks (KIP-441, "Computing the most-caught-up instances").  ``NO_MEMBER`` if no member
    has state, or if the task has no owner and any member could run it at once.
    """
    owners = np.array(history.owner, np.int64)
    for task, owner in enumerate(history.owner):
        if owner != NO_MEMBER and history.rank(task, history.process[owner]) != history.best_rank(task):
            owners[task] = NO_MEMBER
    cells = history.counts(owners)
    # Stateless tasks do not count, because they are planned later and even out the loads.
    loads = cells[history.stateful].sum(axis=0).tolist()
    for task in np.flatnonzero(owners == NO_MEMBER).tolist():
        if not history.absent[task]:
            # Any member could run it at once, so it gets no standing owner: with one chosen for an old copy,
            # the balance might move another of that member's tasks.
            continue
        best = history.best_rank(task)
        row = cells[history.sub[task]]
        candidates: list[tuple[int, int, int]] = []
        for process, rank in history.ranks[task].items():
            if rank == best:
                # Candidates of a process: its members with the standby, or else all its members.
                standbys = [m for m in history.standbys[task] if history.process[m] == process]
                candidates += [(loads[m], int(row[m]), m) for m in standbys or history.members_of[process]]
        if candidates:
            member = min(candidates)[2]
            owners[task] = member
            loads[member] += 1
            row[member] += 1
    return owners


def balanced_owners(history: TaskHistory, standing: Vector, subtopologies: list[int], base: Vector) -> Vector:
    """Return the target of the active tasks of some subtopologies.

    Goals in order: balance, in total and in each subtopology; the fewest tasks that leave their standing
    owner; of those, the fewest without a copy at the new owner.  The first two are exact.  With a balance
    factor above 1 no task leaves its standing owner if members are within the factor once the other tasks are
    dealt (``without_moves``).  Otherwise, of the moves that a factor of 1 would take, only those are made
    that the balance factor asks for.

    The total includes ``base``: by member, its tasks of other subtopologies.  If ``base`` itself is beyond
    the factor, balance in total ranks before balance in each subtopology: the tasks fill up the members'
    loads.

    Returns:
        By task: its owner; ``NO_MEMBER`` for tasks of other subtopologies.
    """
    target = np.full(len(history.tasks), NO_MEMBER, np.int64)
    if not subtopologies:
        return target
    mine = np.isin(history.sub, subtopologies)
    target[mine] = standing[mine]
    supply = np.diff(history.firsts)[subtopologies]
    owned = history.counts(target)[subtopologies]
    factor = history.options.balance_factor
    if bool((target[mine] != NO_MEMBER).all()) and is_within(owned, base, factor):
        return target
    if is_beyond(base, factor):
        shares = even_loads(supply, owned, base)
    else:
        shares = even_shares(supply, owned, base, _preference(history, target, subtopologies, owned, base))
    pick_tasks(history, target, subtopologies, shares - owned)
    exchange(history, target, standing, base)
    if factor > 1:
        undo_needless_moves(history, target, standing, base)
        if bool(((standing != NO_MEMBER) & mine & (target != standing)).any()):
            unmoved = without_moves(history, np.where(mine, standing, NO_MEMBER), mine, base)
            if is_within(history.counts(unmoved)[subtopologies], base, factor):
                return unmoved
    return target


def _preference(
    history: TaskHistory, owners: Vector, subtopologies: list[int], owned: Matrix, base: Vector
) -> Matrix:
    """Return how much each cell prefers the larger share (``supply // members`` plus one).

    A cell is a member's share of a subtopology.  A cell with at most the smaller share prefers the larger one
    if the member has enough copies of other members' tasks.  A cell with more prefers the larger share if too
    few of its tasks have a copy on a member with at most the smaller one.  Copies of tasks that have to move,
    and likely warm-ups, count more than once, so that moves go on as planned.
    """
    supply, members = np.diff(history.firsts)[subtopologies], len(base)
    floor, loads = supply // members, base + owned.sum(axis=0)
    gets = owned <= floor[:, None]
    too_much = (owned > -(-supply[:, None] // members)) | (
        loads > -(-int(base.sum() + supply.sum()) // members)
    )
    copies = np.zeros((8, *owned.shape), np.int64)  # by weight, which is at most 8
    leaves = np.zeros((8, *owned.shape), np.int64)  # tasks that could move to these copies, by weight
    for row, subtopology in enumerate(subtopologies):
        takers = {p: [m for m in members if gets[row, m]] for p, members in enumerate(history.members_of)}
        for task in range(history.firsts[subtopology], history.firsts[subtopology + 1]):
            owner, most = int(owners[task]), 0
            for process in history.ready[task]:
                for member in takers[process]:
                    if member != owner:
                        weight = 1 + history.warm_up_likelihood(task, owner, member)
                        weight += 4 * bool(owner == NO_MEMBER or too_much[row, owner])
                        copies[:weight, row, member] += 1
                        most = max(most, weight)
            if owner != NO_MEMBER:
                leaves[:most, row, owner] += 1
    wanted = np.abs(floor[:, None] - owned) + gets
    preference: Matrix = np.where(gets, copies >= wanted, -(leaves >= wanted).astype(np.int64)).sum(axis=0)
    return preference
