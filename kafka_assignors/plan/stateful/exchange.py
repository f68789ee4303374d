"""Exchanges moves: a task that would need a new copy stays, and a task with a copy moves in its place."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory


def exchange(history: TaskHistory, target: Vector, standing: Vector, base: Vector) -> None:
    """Exchange moves of tasks without a copy at their target; changes ``target``.

    Tasks without a target are ignored, unless ``base`` (by member: tasks of other subtopologies) counts them.

    The number of moves and the balance stay the same.  Each task is exchanged with one other; improvements
    that take several exchanges at once are not found.
    """
    sub, process = history.sub.tolist(), history.process
    cold = [  # tasks that move to a member without a copy, although enough other members have one
        t
        for t in np.flatnonzero(
            (target != standing) & (standing != NO_MEMBER) & (target != NO_MEMBER)
        ).tolist()
        if process[target[t]] not in history.ready[t] and len(history.ready[t]) >= history.copies_of[t]
    ]
    if not cold:
        return
    cells = history.counts(target)
    loads = base + cells.sum(axis=0)
    low, high = cells.min(axis=1), np.maximum(cells.max(axis=1), cells.min(axis=1) + 1)
    least, most = int(loads.min()), max(int(loads.max()), int(loads.min()) + 1)
    takers = {process[target[t]] for t in cold}
    warm: dict[int, list[int]] = {}  # process -> tasks that stay elsewhere and have a copy there
    for task in np.flatnonzero((target == standing) & (target != NO_MEMBER)).tolist():
        for there in history.ready[task]:
            if there in takers:
                warm.setdefault(there, []).append(task)

    def apply(changes: list[tuple[int, int, int]]) -> bool:
        """Apply changes of cells if they keep the balance; return whether they do."""
        for row, member, by in changes:
            cells[row, member] += by
            loads[member] += by
        touched = [(row, member) for row, member, _ in changes]
        if all(
            low[row] <= cells[row, member] <= high[row] and least <= loads[member] <= most
            for row, member in touched
        ):
            return True
        for row, member, by in changes:
            cells[row, member] -= by
            loads[member] -= by
        return False

    for task in cold:
        here, back = int(target[task]), int(standing[task])
        for other in warm.get(process[here], ()):
            giver = int(target[other])
            if giver == here or giver != standing[other]:
                continue  # ``other`` is at ``here`` already, or was exchanged before
            row, other_row = sub[task], sub[other]
            if apply([(row, here, -1), (row, back, 1), (other_row, giver, -1), (other_row, here, 1)]):
                target[task], target[other] = back, here
                break
