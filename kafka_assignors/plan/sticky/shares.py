"""How many partitions of each topic each member gets: the exact optimum.

Partitions of one topic are interchangeable but for who owned them (and, with racks, where their replicas
are), so a plan is first a matrix of counts: ``shares[topic, member]``.  What is best is lexicographic:

1. fair: the sum of the squares of the members' loads is least (then KIP-54's balance score is least too);
2. near, with racks: the fewest units in a rack without a replica (KIP-881);
3. sticky: the fewest units given beyond what a member owned of a topic, which is the same as most kept;
4. spread: the sum of the squares of the shares is least.

All are separable convex costs of a transport problem (topics supply, members receive), so there is an exact
answer and a proof of it: see ``network``.
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.sticky.first_guess import first_shares
from kafka_assignors.plan.sticky.goals import Away, Goal, Load, Mask, Matrix, Moved, Problem, Spread, Vector
from kafka_assignors.plan.sticky.min_cost_flow import settle
from kafka_assignors.plan.sticky.residual import Residual

__all__ = ["best_shares"]


def best_shares(problem: Problem) -> Matrix:
    """The best matrix of shares, shape (rows, members).

    Equal inputs give equal results: on a tie each step takes the member and the topic that come first.  (The
    whole need not be what seniority would choose among all best matrices; docs/planner.md has an example.)
    Members that share no topic, not even through others, do not touch each other: each such part is a problem
    of its own.

    Cost: a few passes over the matrix for each goal, and some tens of microseconds for each path on which
    something that the first matrix had wrong is sent back (docs/benchmarks.md).  Memory: a dozen matrices,
    of 4 or 8 bytes a cell.
    """
    if not problem.owned.size:
        return problem.owned
    part = _parts(problem.subscribed)
    if not part.any():
        return _best(problem)
    shares = np.zeros_like(problem.owned)
    for number in np.unique(part):
        rows = part == number
        cells = np.ix_(rows, problem.subscribed[rows].any(axis=0))
        shares[cells] = _best(
            Problem(
                supply=problem.supply[rows],
                subscribed=problem.subscribed[cells],
                owned=problem.owned[cells],
                floor=problem.floor[cells],
                away=None if problem.away is None else problem.away[cells],
            )
        )
    return shares


def _best(problem: Problem) -> Matrix:
    if problem.owned.shape[1] == 1:
        shares: Matrix = problem.supply[:, None].copy()
        return shares
    residual = Residual(problem, first_shares(problem))
    goals: list[Goal] = [Load(), Moved(problem.owned), Spread()]
    if problem.away is not None:
        goals.insert(1, Away(problem.away))
    for goal in goals:
        settle(residual, goal)
    return residual.shares


def _parts(subscribed: Mask) -> Vector:
    """Number the connected parts: for each row the first row it is connected to."""
    rows = len(subscribed)
    part = np.arange(rows)
    if bool(subscribed.all(axis=1).any()):
        return np.zeros_like(part)
    while True:
        of_member = np.where(subscribed, part[:, None], rows).min(axis=0, initial=rows)
        joined = np.where(subscribed, of_member, rows).min(axis=1, initial=rows)
        if np.array_equal(joined, part):
            return part
        part = joined[joined]  # whom I am joined to is further already
