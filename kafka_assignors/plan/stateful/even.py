"""How many tasks of each subtopology each member gets: balanced both ways, and as few moves as that takes.

KIP-441, "Defining balance": members differ by no more than the balance factor in all their tasks, and in
those of each subtopology.  With a factor of 1 a cell is ``floor(tasks / members)`` or one more.  Who gets
that one more is a flow with costs of 0 and 1: the cheapest choice of each row by itself is made first, and
then columns that have too much send it, on cheapest paths, to those that have too little (successive shortest
paths from an optimal pseudo-flow; exact).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["even_shares"]

Matrix = npt.NDArray[np.int64]
Vector = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NO_WAY = 2**40
_MOVE = 2**20
"""What a move costs, in likings: more than the cells on a way come to."""


def even_shares(supply: Vector, owned: Matrix, base: Vector, liking: Matrix | None = None) -> Matrix:
    """The balanced matrix that gives the fewest units beyond ``owned``, shape (subtopologies, members).

    Each row differs by one at most; among such matrices the sums of the columns, with ``base``, differ by as
    little as can be (by one at most, where ``base`` does); among those it is one that moves least; among
    those the one that is liked best.

    Args:
        supply: tasks of each subtopology.
        owned: what each member has of each.
        base: what each member has beside these.
        liking: how much one more than ``supply // members`` is liked in each cell; small numbers.

    Cost: a few passes over the matrix for each unit that a member gets from another one.
    """
    rows, members = owned.shape
    floor = supply // members
    rest = supply - floor * members
    gain = (owned > floor[:, None]) * _MOVE  # one more is kept, and not moved
    if liking is not None:
        gain += liking
    extra = np.zeros((rows, members), np.bool_)
    load: Vector = base + int(floor.sum())
    for row in np.flatnonzero(rest).tolist():
        order = np.lexsort((load, -gain[row]))[: rest[row]]
        extra[row, order] = True
        load[order] += 1
    low = int(load.sum()) // members
    high = low + (1 if int(load.sum()) % members else 0)
    flow = _Flow(extra, gain, load)
    while flow.send(load > high, load < high):
        pass
    while flow.send(load > low, load < low):
        pass
    shares: Matrix = floor[:, None] + extra
    return shares


class _Flow:
    """Sends the one more of a cell from member to member, through rows; changes its arguments in place."""

    def __init__(self, extra: Mask, gain: Matrix, load: Vector) -> None:
        self._extra, self._gain, self._load = extra, gain, load

    def send(self, sources: Mask, sinks: Mask) -> bool:
        """Send one unit from the source to the sink between which it costs least; False: there is no way."""
        if not sources.any() or not sinks.any():
            return False
        extra, gain = self._extra, self._gain
        members = np.where(sources, 0, _NO_WAY)
        through = np.full(len(members), -1)  # the row by which a member is reached
        giver = np.full(len(extra), -1)  # the member by which a row is reached
        rows = np.full(len(extra), _NO_WAY)
        while True:
            give = np.where(extra, members + gain, _NO_WAY)
            best = give.argmin(axis=1)
            reached = give[np.arange(len(extra)), best]
            lower = reached < rows
            rows[lower], giver[lower] = reached[lower], best[lower]
            get = np.where(extra, _NO_WAY, rows[:, None] - gain)
            best = get.argmin(axis=0)
            reached = get[best, np.arange(len(members))]
            lower = reached < np.minimum(members, _NO_WAY // 2)
            if not lower.any():
                break
            members[lower], through[lower] = reached[lower], best[lower]
        ends = np.where(sinks, members, _NO_WAY)
        at = int(ends.argmin())
        if ends[at] >= _NO_WAY // 2:
            return False
        self._load[at] += 1
        while (row := int(through[at])) != -1:
            self._extra[row, at] = True
            at = int(giver[row])
            self._extra[row, at] = False
        self._load[at] -= 1
        return True
