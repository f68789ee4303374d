"""A balance factor above 1: what need not move for it stays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.history import History

__all__ = ["give_back"]

Vector = npt.NDArray[np.int64]


def give_back(history: History, target: Vector, standing: Vector, kinds: list[int], base: Vector) -> None:
    """Undo moves one by one as long as members stay within the balance factor; changes ``target``.

    What is left cannot be undone one by one; it need not be the fewest moves there are.
    """
    factor = history.options.balance_factor
    members = len(base)
    place = {kind: row for row, kind in enumerate(kinds)}
    cells = np.zeros((len(kinds), members), np.int64)
    mine = np.flatnonzero(np.isin(history.sub, kinds))
    rows = np.array([place[s] for s in history.sub[mine].tolist()], np.int64)
    np.add.at(cells, (rows, target[mine]), 1)
    loads = base + cells.sum(axis=0)
    moved = (target[mine] != standing[mine]) & (standing[mine] != NOBODY)
    for task, row in zip(mine[moved].tolist(), rows[moved].tolist(), strict=True):
        here, back = int(target[task]), int(standing[task])
        for line in (loads, cells[row]):
            line[here] -= 1
            line[back] += 1
        if int(np.ptp(loads)) <= factor and int(np.ptp(cells[row])) <= factor:
            target[task] = back
            continue
        for line in (loads, cells[row]):
            line[here] += 1
            line[back] -= 1
