"""Exchanges moves: a task that would need a new copy stays, and another task with a copy moves instead."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory

Vector = npt.NDArray[np.int64]


def exchange(history: TaskHistory, target: Vector, standing: Vector, kinds: list[int], base: Vector) -> None:
    """Exchange moves of tasks without a copy at their target; changes ``target``.

    The number of moves and the balance stay the same.  It tries one exchange for each task; improvements that
    take several exchanges at once are not found.
    """
    copies = history.copies
    sub, process = history.sub.tolist(), history.process
    cold = [
        t
        for t in np.flatnonzero(
            (target != standing) & (standing != NO_MEMBER) & (target != NO_MEMBER)
        ).tolist()
        if process[target[t]] not in history.ready[t] and len(history.ready[t]) >= copies[sub[t]]
    ]
    if not cold:
        return
    members = len(process)
    cells = np.zeros((len(copies), members), np.int64)
    mine = np.flatnonzero(np.isin(history.sub, kinds))
    np.add.at(cells, (history.sub[mine], target[mine]), 1)
    loads = base + cells.sum(axis=0)
    low, high = cells.min(axis=1), np.maximum(cells.max(axis=1), cells.min(axis=1) + 1)
    least, most = int(loads.min()), max(int(loads.max()), int(loads.min()) + 1)
    wanted = {process[target[t]] for t in cold}
    warm: dict[int, list[int]] = {}  # process -> tasks that stay and have a copy there
    for task in mine.tolist():
        if target[task] == standing[task]:
            for there in history.ready[task]:
                if there in wanted:
                    warm.setdefault(there, []).append(task)

    def fits(changes: list[tuple[int, int, int]]) -> bool:
        """Whether the changes keep the balance; undoes them if not."""
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
                continue  # it is at its target, or was exchanged already
            row, column = sub[task], sub[other]
            if fits([(row, here, -1), (row, back, 1), (column, giver, -1), (column, here, 1)]):
                target[task], target[other] = back, here
                break
