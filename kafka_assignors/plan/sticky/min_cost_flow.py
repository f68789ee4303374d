"""Minimum-cost flow: turn a good matrix of shares into an optimal one, with a proof.

The arcs of the residual network are the possible changes of the matrix: one partition more or less in a
cell.  Each node has a potential, which is added to the costs of its arcs, or subtracted: the reduced costs.
An arc is negative if its reduced cost is.  A matrix is optimal for a goal exactly when there are potentials
under which no arc is negative.  So:

1. Often the goal itself guesses such potentials, or a few rounds of Bellman-Ford find them.
2. Else start from the guess or from the result of these rounds, and push along every negative arc until none
   is left.  Then some nodes have an excess and others a deficit.
3. Send the excess back on shortest paths.  Label all nodes with their distance from the excess, which gives
   the new potentials, and push a blocking flow through the layers of arcs of reduced cost 0 (the primal-dual
   method, Ford and Fulkerson 1962; the layers are Dinic's).  A few phases are enough, each a handful of
   passes over the matrix.

With many units, steps 2 and 3 push large multiples first and then halve them (Minoux 1986).  Loads are
balanced by maximum flow: see ``balance``.
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.sticky.goals import Goal
from kafka_assignors.plan.sticky.max_flow import balance
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import FlowPhase, Labels

_ROUNDS = 6
"""Rounds of Bellman-Ford before the repair, for goals of cells.

If no cycle is negative, four rounds are often enough.
"""

_UNIT_BITS = 6
"""Single units are fast enough if the most negative reduced cost has at most this many bits."""


def settle(residual: Residual, goal: Goal) -> None:
    """Make the shares optimal for a goal, and keep them optimal for the goals settled before."""
    state = residual.problem, residual.shares, residual.loads
    if goal.is_met(*state):
        residual.record_settled(goal, goal.guess(*state))
        return
    if goal.of_loads:
        balance(residual)
    residual.price(goal)
    labels = Labels(residual)
    if not labels.relax(residual.hub + 2 if goal.of_loads else _ROUNDS):
        labels = _repair(residual, goal, labels)
    residual.record_settled(goal, labels.potentials())


def _repair(residual: Residual, goal: Goal, relaxed: Labels) -> Labels:
    """Find the optimum and its labels.

    The arcs that add a partition to a cell have no limit, unless the goal is curved: each further partition
    then costs more.  No push can use up an arc without a limit, so it must not be negative.  The goal's own
    guess ensures that; the relaxed labels do not.
    """
    labels = Labels(residual, goal.guess(residual.problem, residual.shares, residual.loads))
    step = 1
    if goal.curved:
        labels = min(labels, relaxed, key=_total_negative)
        most_negative = -min(int(costs.min(initial=0)) for costs in labels.negative())
        step = 2 ** max(most_negative.bit_length() - _UNIT_BITS, 0)
    while True:
        if step > 1 or residual.step > 1:
            residual.price(goal, step)
            labels.convert()
        excess = _use_up(residual, labels)
        while bool((excess > 0).any()):
            phase = FlowPhase(residual, labels, excess)
            if not phase.measure():
                raise RuntimeError("no node with a deficit can be reached from the excess")  # would be a bug
            phase.send()
        if step == 1:
            return labels
        step //= 2


def _total_negative(labels: Labels) -> int:
    """The total by which arcs are negative under these labels."""
    return -sum(int(costs.sum()) for costs in labels.negative())


def _use_up(residual: Residual, labels: Labels) -> Vector:
    """Push along every negative arc until none is left; return the excess of each node."""
    excess = np.zeros(residual.hub + 1, np.int64)
    step = residual.step

    def push(here: int, there: int, negative: int) -> None:
        units = residual.room(here, there)
        if residual.goal.curved and residual.hub not in (here, there):
            enough = step * -(negative // (2 * step))
            units = min(units - units % step, enough)
        residual.push(here, there, units)
        excess[here] -= units
        excess[there] += units

    while True:
        add, take, grow, shrink = labels.negative()
        before = excess.copy()
        for topic, member in np.argwhere(add).tolist():
            push(topic, residual.topics + member, int(add[topic, member]))
        for member, topic in np.argwhere(take).tolist():
            push(residual.topics + member, topic, int(take[member, topic]))
        for member in np.flatnonzero(grow).tolist():
            push(residual.topics + member, residual.hub, int(grow[member]))
        for member in np.flatnonzero(shrink).tolist():
            push(residual.hub, residual.topics + member, int(shrink[member]))
        if np.array_equal(before, excess):
            return excess
