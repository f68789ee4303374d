"""The exact optimum of the shares: how many partitions of each topic each member gets.

Partitions of one topic differ only in their owner (and, with racks, in the racks of their replicas).  So a
plan is first a matrix of counts: ``shares[topic, member]``, whose units are partitions.  The goals, in this
order:

1. fair: the least sum of the squares of the members' loads (which also has the least KIP-54 balance score);
2. near, with racks: the fewest units in a rack without a replica (KIP-881);
3. sticky: the fewest units beyond those a member owned of a topic, so that the most partitions stay;
4. spread: the least sum of the squares of the shares.

All are separable convex costs of a transport problem (topics supply, members receive).  So an exact solution,
and a proof of it, can be found: see ``min_cost_flow``.
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.sticky.first_guess import first_shares
from kafka_assignors.plan.sticky.goals import Away, Goal, Load, Moved, Spread, TransportProblem
from kafka_assignors.plan.sticky.min_cost_flow import settle
from kafka_assignors.plan.sticky.residual import Residual


def best_shares(problem: TransportProblem) -> Matrix:
    """Return the best matrix of shares, shape (rows, members).

    Equal inputs give equal results: ties are broken by the order of members and topics.  (Of several best
    matrices, it need not be the one that seniority would choose: docs/explanation/planner.md.) Parts of the
    group that share no topic, directly or through others, are solved separately.

    Cost: a few passes over the matrix for each goal, and some tens of microseconds for each path that repairs
    the first matrix (docs/benchmarks.md).  Memory: a dozen matrices, of 4 or 8 bytes a cell.
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
            TransportProblem(
                supply=problem.supply[rows],
                subscribed=problem.subscribed[cells],
                owned=problem.owned[cells],
                floor=problem.floor[cells],
                away=None if problem.away is None else problem.away[cells],
            )
        )
    return shares


def _best(problem: TransportProblem) -> Matrix:
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
    """By row: the first row of its connected part."""
    rows = len(subscribed)
    part = np.arange(rows)
    if bool(subscribed.all(axis=1).any()):
        return np.zeros_like(part)
    while True:
        of_member = np.where(subscribed, part[:, None], rows).min(axis=0, initial=rows)
        joined = np.where(subscribed, of_member, rows).min(axis=1, initial=rows)
        if np.array_equal(joined, part):
            return part
        part = joined[joined]  # follow one more link, to need fewer rounds
