"""The goals of a matrix of shares, as convex costs of its cells and loads.

``shares[row, member]`` counts the partitions of a row that a member gets; a unit is one of them.  A load
is the sum of a member's shares.  Every goal is a sum of convex costs of the cells or of the loads.  So prices
(potentials) of rows and members can prove an optimum of each goal: see ``min_cost_flow``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector

ALL = (slice(None), slice(None))


@dataclass(frozen=True, slots=True)
class TransportProblem:
    """A transport problem: the partitions of each row, and the members that may get them.

    A row is a lot (``deal.Lots``): a topic or, with racks, a part of one.  Its partitions differ only in
    their owners.

    Attributes:
        supply: partitions of each row, shape (rows,).
        subscribed: whether a member may get partitions of a row, shape (rows, members); each row has a
            subscriber.
        owned: partitions of each row that each member owned, same shape; 0 where not subscribed.
        floor: the smallest share allowed, same shape.
        away: 1 where the member is in no rack of the row's replicas and another subscriber is, same shape;
            None without racks.
    """

    supply: Vector
    subscribed: Mask
    owned: Matrix
    floor: Matrix
    away: Matrix | None = None


class Potentials(NamedTuple):
    """A price of every node: of rows, members and the hub (see ``residual``).

    Shares are optimal if ``a + c >= b`` for every arc of cost ``c`` from a node of price ``a`` to a node of
    price ``b``.
    """

    topic: Vector
    member: Vector
    hub: int


class Goal(ABC):
    """A sum of convex costs to minimise."""

    curved = False
    """Whether the cost of a cell's next unit grows with each unit (by 2)."""
    fixed = False
    """Whether the cost of a cell's next unit is constant."""
    of_loads = False
    """Whether the cost is of the loads; else it is of the cells."""

    @abstractmethod
    def cell(self, shares: Any, cells: Any) -> Any:
        """Cost of one unit more than ``shares`` in the given cells.  It never falls as ``shares`` grow."""

    @abstractmethod
    def guess(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> Potentials:
        """Potentials that prove ``shares`` optimal if ``is_met``; else a start for the repair."""

    @abstractmethod
    def is_met(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> bool:
        """Whether ``guess`` proves ``shares`` optimal."""


class Load(Goal):
    """Fair: the sum of the squares of the loads.

    One more unit on a load of n costs n + 1, and one less saves n.  This is half of the change of the square,
    rounded up, and gives the same optimum.
    """

    fixed = of_loads = True

    def cell(self, shares: Any, cells: Any) -> Any:
        return shares * 0

    def guess(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> Potentials:
        rows, members = shares.shape
        return Potentials(
            np.zeros(rows, np.int64), np.zeros(members, np.int64), int(loads.sum()) // max(members, 1) + 1
        )

    def is_met(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> bool:
        return int(loads.max(initial=0)) - int(loads.min(initial=2**62)) <= 1


class Away(Goal):
    """Near: the cost is the number of units in cells that are ``away`` (KIP-881)."""

    fixed = True

    def __init__(self, away: Matrix) -> None:
        self._away = away

    def cell(self, shares: Any, cells: Any) -> Any:
        return self._away[cells]

    def guess(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> Potentials:
        rows, members = shares.shape
        return Potentials(np.zeros(rows, np.int64), np.zeros(members, np.int64), 0)

    def is_met(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> bool:
        return not (shares * self._away).any()


class Moved(Goal):
    """Sticky: the units of each share beyond those the member owned."""

    def __init__(self, owned: Matrix) -> None:
        self._owned = owned

    def cell(self, shares: Any, cells: Any) -> Any:
        return (shares >= self._owned[cells]) + 0

    def guess(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> Potentials:
        gives, gets = self._sides(shares)
        hub = int(self._hub_may_cost_1(gives, loads))
        # A member that only gives has price 0, one that gets has 1, any other has the hub's price.
        member = np.where(gives & ~gets, 0, np.where(gets, 1, hub))
        return Potentials(np.zeros(len(shares), np.int64), member, hub)

    def is_met(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> bool:
        gives, gets = self._sides(shares)
        if not gives.any():
            return True
        if (gives & gets).any() or int(loads.max()) - int(loads.min()) > 1:
            return False
        # With a hub price of 0, a member that gets units must not be able to shrink its load.
        return self._hub_may_cost_1(gives, loads) or not (gets & (loads > loads.min())).any()

    def _sides(self, shares: Matrix) -> tuple[Mask, Mask]:
        """By member: whether it has less of a row than it owned, and whether it has more of a row."""
        return np.any(shares < self._owned, axis=0), np.any(shares > self._owned, axis=0)

    def _hub_may_cost_1(self, gives: Mask, loads: Vector) -> bool:
        """Whether the hub may have price 1: no giver has the lowest load.

        Only the lowest loads may grow, so a giver with one could take a unit back.
        """
        return not (gives & (loads == loads.min())).any()


class Spread(Goal):
    """Even: the sum of the squares of the shares."""

    curved = True

    def cell(self, shares: Any, cells: Any) -> Any:
        return 2 * shares + 1

    def guess(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> Potentials:
        return Potentials(-(2 * self._level(problem) + 1), np.zeros(shares.shape[1], np.int64), 0)

    def is_met(self, problem: TransportProblem, shares: Matrix, loads: Vector) -> bool:
        level = self._level(problem)[:, None]
        even = ((shares == level) | (shares == level + 1)) | ~problem.subscribed
        return bool(even.all())

    def _level(self, problem: TransportProblem) -> Vector:
        level: Vector = problem.supply // problem.subscribed.sum(axis=1)
        return level
