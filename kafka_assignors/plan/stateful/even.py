"""How many tasks of each subtopology each member gets: balanced, and as few moves as that takes.

``even_shares`` puts each subtopology before the total, ``even_loads`` the total before each subtopology.
Both are flows with convex costs: the cheapest choice of each row by itself is made first, and then columns
with too much send units, on cheapest paths, to those with too little (successive shortest paths from an
optimal pseudo-flow; exact).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["even_loads", "even_shares"]

Matrix = npt.NDArray[np.int64]
Vector = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NO_WAY = 2**60
_MOVE = 2**20
"""Costs come in two ranks: this is more than all costs of the lower rank on a path come to."""


def even_shares(supply: Vector, owned: Matrix, base: Vector, liking: Matrix | None = None) -> Matrix:
    """The balanced matrix that gives the fewest units beyond ``owned``, shape (subtopologies, members).

    A cell is ``supply // members`` or one more (KIP-441, "Defining balance"); among such matrices the sums of
    the columns, with ``base``, differ by as little as can be (by one at most, where ``base`` does); among
    those it is one that moves least; among those the one that is liked best.

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

    def send(sources: Mask, sinks: Mask) -> bool:
        """Send one unit on the cheapest path; False: there is none."""
        path = _cheapest(sources, sinks, np.where(extra, gain, _NO_WAY), np.where(extra, _NO_WAY, -gain))
        for row, giver, taker in path.steps:
            extra[row, giver], extra[row, taker] = False, True
            load[giver] -= 1
            load[taker] += 1
        return bool(path.steps)

    while send(load > high, load < high):
        pass
    while send(load > low, load < low):
        pass
    shares: Matrix = floor[:, None] + extra
    return shares


def even_loads(supply: Vector, owned: Matrix, base: Vector) -> Matrix:
    """The matrix that fills up ``base`` most evenly, shape (subtopologies, members).

    Goals in order: the least sum of squares of the columns with ``base``, which is also the least largest
    one; the least sum of squares of the cells; the fewest units beyond ``owned``.  All three are exact, so a
    result given back as ``owned`` comes out unchanged.

    Args and cost: as for ``even_shares``.
    """
    if not int(supply.sum()):
        return np.zeros_like(owned)
    shares = even_shares(supply, owned, base)
    load: Vector = base + shares.sum(axis=0)

    def send(sources: Mask, sinks: Mask, at_most: int) -> bool:
        """Send one unit on the cheapest path if that costs no more."""
        get = (2 * shares + 1) * _MOVE + (shares >= owned)
        give = np.where(shares > 0, (1 - 2 * shares) * _MOVE - (shares > owned), _NO_WAY)
        path = _cheapest(sources, sinks, give, get)
        if not path.steps or path.cost > at_most:
            return False
        for row, giver, taker in path.steps:
            shares[row, giver] -= 1
            shares[row, taker] += 1
            load[giver] -= 1
            load[taker] += 1
        return True

    while True:
        low, most = int(load.min()), int(load[shares.any(axis=0)].max())
        sources = (load == most) & shares.any(axis=0)
        # A difference of one may stay, or change places, whichever costs less.
        if most == low or not send(sources, load == low, _NO_WAY if most > low + 1 else -1):
            return shares


class _Path(NamedTuple):
    """The way of one unit, from the last step to the first.

    Attributes:
        cost: of all of it.
        steps: a row, and the members that give and get a unit of it; empty: there is no way.
    """

    cost: int
    steps: list[tuple[int, int, int]]


def _cheapest(sources: Mask, sinks: Mask, give: Matrix, get: Matrix) -> _Path:
    """The cheapest way from a source to a sink, at these costs for a member to give a unit and to get one."""
    if not sources.any() or not sinks.any():
        return _Path(_NO_WAY, [])
    count, people = give.shape
    members = np.where(sources, 0, _NO_WAY)
    through = np.full(people, -1)  # the row by which a member is reached
    giver = np.full(count, -1)  # the member by which a row is reached
    rows = np.full(count, _NO_WAY)
    while True:
        ways = members + give
        best = ways.argmin(axis=1)
        reached = ways[np.arange(count), best]
        lower = reached < rows
        rows[lower], giver[lower] = reached[lower], best[lower]
        ways = rows[:, None] + get
        best = ways.argmin(axis=0)
        reached = ways[best, np.arange(people)]
        lower = reached < np.minimum(members, _NO_WAY // 2)
        if not lower.any():
            break
        members[lower], through[lower] = reached[lower], best[lower]
    ends = np.where(sinks, members, _NO_WAY)
    at = int(ends.argmin())
    path = _Path(int(ends[at]), [])
    if path.cost < _NO_WAY // 2:
        while (row := int(through[at])) != -1:
            path.steps.append((row, int(giver[row]), at))
            at = int(giver[row])
    return path
