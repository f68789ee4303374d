"""The number of tasks of each subtopology that each member gets: balanced, with the fewest moves.

``even_shares`` ranks each subtopology before the total, ``even_loads`` the total before each subtopology.
Both are flows with convex costs, in a matrix with a row for each subtopology and a column for each member; a
unit is one task.  ``even_shares`` starts with the cheapest choice of each row, ``even_loads`` with the result
of ``even_shares``.  Then columns with too much send units, on cheapest paths, to columns with too little
(successive shortest paths from an optimal pseudo-flow; exact).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector

_NO_WAY = 2**60
"""Cost of a step that is not possible."""

_HIGHER_RANK = 2**20
"""Costs have two ranks.  A unit of the higher one is more than all costs of the lower one on a path."""


def even_shares(supply: Vector, owned: Matrix, base: Vector, preference: Matrix | None = None) -> Matrix:
    """Return the balanced matrix with the fewest units beyond ``owned``, shape (subtopologies, members).

    A cell is ``supply // members`` or one more (KIP-441, "Defining balance").  Goals in order: the column
    sums, with ``base``, differ as little as possible (by one at most, if ``base`` does); the fewest moves;
    the highest sum of ``preference``.

    Args:
        supply: by subtopology, its tasks.
        owned: tasks of each subtopology that each member has.
        base: by member, its tasks outside these subtopologies.
        preference: how much each cell prefers one more than ``supply // members``; small numbers.

    Cost: a few passes over the matrix for each unit that moves between members.  Units of a row that
    move in one step at equal cost share these passes.
    """
    rows, members = owned.shape
    floor = supply // members
    rest = supply - floor * members
    gain = (owned > floor[:, None]) * _HIGHER_RANK  # an owned task that need not move
    if preference is not None:
        gain += preference
    extra = np.zeros((rows, members), np.bool_)
    load: Vector = base + int(floor.sum())
    for row in np.flatnonzero(rest).tolist():
        order = np.lexsort((load, -gain[row]))[: rest[row]]
        extra[row, order] = True
        load[order] += 1
    low = int(load.sum()) // members
    high = low + (1 if int(load.sum()) % members else 0)

    def send(sources: Mask, sinks: Mask) -> bool:
        """Send units on cheapest paths; return whether there is a path."""
        path = _cheapest(sources, sinks, np.where(extra, gain, _NO_WAY), np.where(extra, _NO_WAY, -gain))
        for row, giver, taker in path.steps:
            extra[row, giver], extra[row, taker] = False, True
            load[giver] -= 1
            load[taker] += 1
        return bool(path.steps)

    while send(load > high, load < high):  # until no column has too much
        pass
    while send(load > low, load < low):  # until no column has too little
        pass
    shares: Matrix = floor[:, None] + extra
    return shares


def even_loads(supply: Vector, owned: Matrix, base: Vector) -> Matrix:
    """Return the matrix that fills up ``base`` most evenly, shape (subtopologies, members).

    Goals in order: the least sum of squares of the column sums with ``base``, which also minimises the
    largest of them; the least sum of squares of the cells; the fewest units beyond ``owned``.  All three are
    exact, so a result passed as ``owned`` is returned unchanged.

    Args and cost: as for ``even_shares``.
    """
    if not int(supply.sum()):
        return np.zeros_like(owned)
    shares = even_shares(supply, owned, base)
    load: Vector = base + shares.sum(axis=0)

    def send(sources: Mask, sinks: Mask, at_most: int) -> bool:
        """Send units on cheapest paths if these cost at most ``at_most``; return whether any was sent."""
        get = (2 * shares + 1) * _HIGHER_RANK + (shares >= owned)
        give = np.where(shares > 0, (1 - 2 * shares) * _HIGHER_RANK - (shares > owned), _NO_WAY)
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
        # If loads differ by one, a unit moves only if that lowers the cost.
        at_most = _NO_WAY if most > low + 1 else -1
        if most == low or not send(sources, load == low, at_most):
            return shares


class _Path(NamedTuple):
    """The path of one unit, or paths of one step that several units of a row take at once.

    Attributes:
        cost: of the whole path, for each unit.
        steps: row, giving member and receiving member of each step, the last one first; empty if there is no
            path.
    """

    cost: int
    steps: list[tuple[int, int, int]]


def _cheapest(sources: Mask, sinks: Mask, give: Matrix, get: Matrix) -> _Path:
    """Return the cheapest path from a source to a sink.

    If it has a single step, it comes with all equal steps of the row that can be taken at once.

    Args:
        sources: by member, whether a path may start there.
        sinks: by member, whether a path may end there.
        give: cost if a member gives a unit of a row, shape (rows, members).
        get: cost if a member gets a unit of a row, same shape.
    """
    if not sources.any() or not sinks.any():
        return _Path(_NO_WAY, [])
    rows, members = give.shape
    to_member = np.where(sources, 0, _NO_WAY)  # cost of the cheapest path found so far
    to_row = np.full(rows, _NO_WAY)
    through = np.full(members, -1)  # the row by which a member is reached
    giver = np.full(rows, -1)  # the member by which a row is reached
    while True:
        costs = to_member + give
        best = costs.argmin(axis=1)
        cost = costs[np.arange(rows), best]
        lower = cost < to_row
        to_row[lower], giver[lower] = cost[lower], best[lower]
        costs = to_row[:, None] + get
        best = costs.argmin(axis=0)
        cost = costs[best, np.arange(members)]
        lower = cost < np.minimum(to_member, _NO_WAY // 2)
        if not lower.any():
            break
        to_member[lower], through[lower] = cost[lower], best[lower]
    ends = np.where(sinks, to_member, _NO_WAY)
    member = int(ends.argmin())
    path = _Path(int(ends[member]), [])
    if path.cost < _NO_WAY // 2:
        while (row := int(through[member])) != -1:
            path.steps.append((row, int(giver[row]), member))
            member = int(giver[row])
    if len(path.steps) == 1:
        # An equal step of other members in the row stays a cheapest path, so all such units move at once.
        row, source, sink = path.steps[0]
        givers = np.flatnonzero(sources & (give[row] == give[row, source])).tolist()
        takers = np.flatnonzero(sinks & (get[row] == get[row, sink])).tolist()
        path.steps[:] = [(row, *pair) for pair in zip(givers, takers, strict=False)]
    return path
