"""The residual network of a matrix of shares: what may change, and what each change costs.

Nodes: topics, members and one hub, numbered in that order.  An arc topic -> member gives the member one more
of the topic, the arc back takes one away; member -> hub lets its load grow by one, hub -> member lets it
shrink.

Goals are settled one after the other, each with small numbers of its own.  What settling one leaves behind
are its potentials: a cycle costs nothing in that goal exactly when all its arcs have a reduced cost of 0
there.  So the next goal may use just those arcs, which makes the whole lexicographic, and exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kafka_assignors.plan.goals import ALL, Goal, Matrix, Potentials, Problem, Vector

__all__ = ["Residual"]

_NARROW, _WIDE = 2**30, 2**62
_LARGE = 2**62


class Residual:
    """Shares on their way to the optimum, and the costs of all arcs for the goal at hand.

    Attributes:
        shares: changed in place.
        loads: what the hub has seen of each member's load; the same as the sum of its shares once everything
            is in balance.
        kind: numpy type of the costs.
        forbidden: the cost of an arc that is not there.
        add, take, grow, shrink: costs of topic -> member (by topic, member), member -> topic (by member,
            topic: what is read together lies together), member -> hub, hub -> member.
    """

    def __init__(self, problem: Problem, shares: Matrix) -> None:
        self.problem = problem
        self.shares = shares
        self.loads: Vector = shares.sum(axis=0)
        self.topics, self.members = shares.shape
        self.hub = self.topics + self.members
        self._settled: list[tuple[Goal, Potentials]] = []

    def settled(self, goal: Goal, proof: Potentials) -> None:
        """From now on nothing may cost anything in ``goal``."""
        self._settled.append((goal, proof))

    def price(self, goal: Goal) -> None:
        """Lay out the costs of all arcs."""
        self.goal = goal
        more, less = goal.cell(self.shares, ALL), goal.cell(self.shares - 1, ALL)
        may_add = self.problem.subscribed.copy()
        may_take = self.shares > self.problem.floor
        for done, proof in self._settled:
            across = proof.topic[:, None] - proof.member
            may_add &= across + done.cell(self.shares, ALL) == 0
            may_take &= across + done.cell(self.shares - 1, ALL) == 0
        steepest = max(int(np.abs(more).max(initial=1)), int(self.loads.max(initial=0)) + 1)
        # A potential is at most the cost of a path through all nodes.
        narrow = (self.hub + 1) * steepest < _NARROW // 8
        self.kind: Any = np.int32 if narrow else np.int64  # a pass over the matrix is bound by memory
        self.forbidden = _NARROW if narrow else _WIDE
        self.add = np.where(may_add, more, self.forbidden).astype(self.kind)
        self.take = np.ascontiguousarray(np.where(may_take, -less, self.forbidden).astype(self.kind).T)
        self.grow = np.empty(self.members, self.kind)
        self.shrink = np.empty(self.members, self.kind)
        for member in range(self.members):
            self._price_of_load(member)

    def cost(self, here: int, there: int) -> int:
        """Cost of one arc."""
        if here < self.topics:
            return int(self.add[here, there - self.topics])
        if here == self.hub:
            return int(self.shrink[there - self.topics])
        member = here - self.topics
        return int(self.grow[member] if there == self.hub else self.take[member, there])

    def room(self, here: int, there: int) -> int:
        """How many units an arc takes before it ends, or before what they cost in a linear goal changes."""
        if self.hub in (here, there):
            return 1
        if here < self.topics:
            at = here, there - self.topics
            wanted = int(self.problem.owned[at] - self.shares[at])
            return wanted if wanted > 0 else _LARGE
        at = there, here - self.topics
        beyond = int(self.shares[at] - self.problem.owned[at])
        return beyond if beyond > 0 else int(self.shares[at] - self.problem.floor[at])

    def push(self, here: int, there: int, units: int) -> None:
        """Send units along an arc."""
        if here < self.topics:
            self.give(here, there - self.topics, units)
        elif here == self.hub:
            self.load(there - self.topics, -units)
        elif there == self.hub:
            self.load(here - self.topics, units)
        else:
            self.give(there, here - self.topics, -units)

    def give(self, topic: int, member: int, units: int) -> None:
        """Change a share."""
        self.shares[topic, member] += units
        at = topic, member
        share = int(self.shares[at])
        add = take = self.forbidden
        before = [(goal, int(proof.topic[topic] - proof.member[member])) for goal, proof in self._settled]
        if self.problem.subscribed[at] and all(gap + int(goal.cell(share, at)) == 0 for goal, gap in before):
            add = int(self.goal.cell(share, at))
        if share > self.problem.floor[at] and all(
            gap + int(goal.cell(share - 1, at)) == 0 for goal, gap in before
        ):
            take = -int(self.goal.cell(share - 1, at))
        self.add[topic, member] = add
        self.take[member, topic] = take

    def load(self, member: int, units: int) -> None:
        """Change a load."""
        self.loads[member] += units
        self._price_of_load(member)

    def _price_of_load(self, member: int) -> None:
        load = int(self.loads[member])
        grow = shrink = self.forbidden
        if self._is_free(member, load + 1):
            grow = load + 1 if self.goal.of_loads else 0
        if load > 0 and self._is_free(member, load):
            shrink = -load if self.goal.of_loads else 0
        self.grow[member], self.shrink[member] = grow, shrink

    def _is_free(self, member: int, cost: int) -> bool:
        """Whether the arc between a member and the hub costs nothing in the goals settled before."""
        return all(
            int(proof.member[member]) + (cost if goal.of_loads else 0) == proof.hub
            for goal, proof in self._settled
        )
