"""Checks whether members are within a balance factor, and undoes moves that the factor does not ask for."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory


def is_beyond(base: Vector, factor: int) -> bool:
    """Whether members differ by more than the factor in their tasks of other subtopologies (``base``)."""
    return int(np.ptp(base)) > factor


def is_within(cells: Matrix, base: Vector, factor: int) -> bool:
    """Whether members differ by no more than the factor, in total and in each row.

    If ``base`` is beyond the factor, only the total is checked, and only for a factor above 1.  With a factor
    of 1 the answer is then False, so that the caller computes the best result (``even_loads``).

    Args:
        cells: tasks of each subtopology that each member has, shape (subtopologies, members).
        base: by member, its tasks of other subtopologies.
        factor: the balance factor.
    """
    within = int(np.ptp(base + cells.sum(axis=0))) <= factor
    if is_beyond(base, factor):
        return within and factor > 1
    return within and int(np.ptp(cells, axis=1).max(initial=0)) <= factor


def without_moves(history: TaskHistory, standing: Vector, mine: Mask, base: Vector) -> Vector:
    """Return the standing owners, and an owner for each other task of ``mine``.

    A task goes to the member with the fewest tasks, those of its subtopology counted twice; among equals to
    the one with the fewest in all, then to one with a copy.  If ``base`` is beyond the factor, only totals
    count.
    """
    target: Vector = standing.copy()
    fills_up = is_beyond(base, history.options.balance_factor)
    cells = history.counts(target)
    loads = base + cells.sum(axis=0)
    for task in np.flatnonzero(mine & (target == NO_MEMBER)).tolist():
        row, ready = cells[history.sub[task]], history.ready[task]
        rank = loads if fills_up else loads + row
        member = min(
            range(len(base)), key=lambda m: (rank[m], loads[m], row[m], history.process[m] not in ready, m)
        )
        target[task] = member
        row[member] += 1
        loads[member] += 1
    return target


def undo_needless_moves(history: TaskHistory, target: Vector, standing: Vector, base: Vector) -> None:
    """Undo moves of a balanced ``target`` that the balance factor does not ask for; changes ``target``.

    Tasks without a target are ignored, unless ``base`` (by member: tasks of other subtopologies) counts them.

    All moves are undone, then made again until members are within the factor, in the order in which they
    become possible: to caught-up copies, to standbys and warm-ups, to members without a copy.  A move to a
    member without a copy is undone if members are within the factor without it.  So no copy is built in vain.
    The result has no needless move to a member without a copy, but a smaller set of moves may exist.

    Cost: a few passes over the members for each move; all moves to members without a copy are tried again
    after one is undone.
    """
    factor, process = history.options.balance_factor, history.process
    sub = history.sub.tolist()
    moves: list[tuple[bool, bool, int, int, int]] = []
    for task in np.flatnonzero(target != NO_MEMBER).tolist():
        here, there = int(standing[task]), int(target[task])
        if here not in (NO_MEMBER, there):
            rank = history.rank(task, process[there])
            is_begun = history.is_standby(task, process[there])
            moves.append((rank > 0, not is_begun, rank, task, there))
            target[task] = here
    cells = history.counts(target)
    loads = base + cells.sum(axis=0)
    fills_up = is_beyond(base, factor)
    uneven = (np.ptp(cells, axis=1) > factor) & (not fills_up)

    def go(task: int, there: int) -> bool:
        """Move a task; return whether members are within the factor now."""
        row, here = sub[task], int(target[task])
        cells[row, here] -= 1
        cells[row, there] += 1
        loads[here] -= 1
        loads[there] += 1
        uneven[row] = not fills_up and np.ptp(cells[row]) > factor
        target[task] = there
        return int(np.ptp(loads)) <= factor and not uneven.any()

    without_copy: list[tuple[int, int]] = []
    within = is_within(cells, base, factor)
    for is_behind, is_new, _, task, there in sorted(moves):
        if within:
            break
        within = go(task, there)
        if is_behind and is_new:
            without_copy.append((task, there))
    undone = within  # if all moves are not enough, they are still the best result
    while undone:
        undone = False
        for task, there in reversed(without_copy):
            if target[task] != there:
                continue
            if go(task, int(standing[task])):
                undone = True
            else:
                go(task, there)
