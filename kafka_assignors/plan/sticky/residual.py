"""The residual network of a matrix of shares (``goals``): the changes it allows, and their costs.

Nodes: topics, members and one hub, numbered in that order.  With racks, a topic here is a part of one (a row
of ``TransportProblem``).  An arc from a topic to a member gives the member one more partition (unit) of the
topic; the arc back takes one away.  An arc from a member to the hub lets the member's load grow by one; the
arc back lets it shrink.

Goals are settled one after the other, each with its own small costs.  The potentials of a settled goal are
kept: a cycle costs nothing in that goal exactly when all its arcs have a reduced cost of 0.  The next goal
may use only those arcs, which makes the result lexicographic and exact.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.sticky.goals import ALL, Goal, Potentials, TransportProblem

_NARROW, _WIDE = 2**30, 2**62  # cost of a missing arc in int32 and in int64
_LARGE = 2**62  # units of an arc without a limit


class Edges:
    """The subscriptions as lists, for groups in which each topic has few subscribers.

    Attributes:
        members: the subscribers of each topic, one topic after the other.
        topics: the topics of each member, one member after the other.
    """

    def __init__(self, subscribed: Mask) -> None:
        self.members = np.nonzero(subscribed)[1]
        self.topics = np.nonzero(subscribed.T)[1]
        self._of_topic = np.append(0, np.cumsum(subscribed.sum(axis=1)))
        self._of_member = np.append(0, np.cumsum(subscribed.sum(axis=0)))

    def of_topics(self, topics: Vector) -> tuple[Vector, Vector]:
        """Return the edges of some topics: indices into ``topics``, and members."""
        indices, edges = _ranges(self._of_topic, topics)
        return indices, self.members[edges]

    def of_members(self, members: Vector) -> tuple[Vector, Vector]:
        """Return the edges of some members: indices into ``members``, and topics."""
        indices, edges = _ranges(self._of_member, members)
        return indices, self.topics[edges]


def _ranges(bounds: Vector, wanted: Vector) -> tuple[Vector, Vector]:
    """Concatenate the ranges from ``bounds[i]`` to ``bounds[i + 1]`` for each i in ``wanted``.

    Returns:
        For each entry, the index in ``wanted`` of its range; and the entries.
    """
    sizes = bounds[wanted + 1] - bounds[wanted]
    indices = np.repeat(np.arange(len(wanted)), sizes)
    return indices, np.arange(len(indices)) + (bounds[wanted] - np.cumsum(sizes) + sizes)[indices]


class Residual:
    """Shares on their way to the optimum, and the costs of all arcs for the current goal.

    Attributes:
        problem: the transport problem.
        shares: changed in place.
        loads: by member, the units on the arcs between the member and the hub.  They may differ from the sum
            of the member's shares during a flow, but not after it.
        topics, members: the number of each.
        hub: the number of the hub's node.
        goal: the goal of the current costs.
        step: units of a push.
        kind: numpy type of the costs.
        forbidden: the cost of an arc that does not exist.
        add, take, grow, shrink: costs of topic -> member (by topic, member), member -> topic (by member,
            topic, so that a row is contiguous in memory), member -> hub, hub -> member.
    """

    def __init__(self, problem: TransportProblem, shares: Matrix) -> None:
        self.problem = problem
        self.shares = shares
        self.loads: Vector = shares.sum(axis=0)
        self.topics, self.members = shares.shape
        self.hub = self.topics + self.members
        self.step = 1
        self._settled: list[tuple[Goal, Potentials]] = []

    @cached_property
    def edges(self) -> Edges:
        """The cells that may have units, as lists."""
        return Edges(self.problem.subscribed)

    @cached_property
    def _even(self) -> Vector:
        """By topic: the largest share of a subscriber if the topic is spread evenly."""
        even: Vector = -(-self.problem.supply // np.maximum(self.problem.subscribed.sum(axis=1), 1))
        return even

    def record_settled(self, goal: Goal, proof: Potentials) -> None:
        """Allow from now on only changes that cost nothing in ``goal``."""
        self._settled.append((goal, proof))

    def price(self, goal: Goal, step: int = 1) -> None:
        """Compute the costs of all arcs: the average cost of a unit in a push of ``step`` units.

        With ``step`` above 1, arcs without room for a push do not exist, nor does the hub.
        """
        self.goal, self.step = goal, step
        # Only a curved goal has steps above 1.  Each further unit of a push costs 2 more than the one before,
        # so the average unit costs step - 1 more than the first.
        more = goal.cell(self.shares, ALL) + step - 1
        less = goal.cell(self.shares - 1, ALL) - step + 1
        # An arc must cost nothing in all settled goals.  In a fixed goal an arc and the arc back have
        # opposite costs, so one check serves both.
        may_add = self.problem.subscribed.copy()
        for done, proof in self._settled:
            if done.fixed:
                may_add &= proof.topic[:, None] - proof.member + done.cell(self.shares, ALL) == 0
        may_take = may_add & (self.shares > self.problem.floor)
        if step > 1:
            wanted, beyond = self.problem.owned - self.shares, self.shares - self.problem.owned
            may_add &= (wanted <= 0) | (wanted >= step)
            may_take &= np.where(beyond > 0, beyond, self.shares - self.problem.floor) >= step
        self._changing = [(done, proof) for done, proof in self._settled if not done.fixed]
        for done, proof in self._changing:
            across = proof.topic[:, None] - proof.member
            may_add &= across + done.cell(self.shares, ALL) == 0
            may_take &= across + done.cell(self.shares - 1, ALL) == 0
        steepest = max(int(np.abs(more).max(initial=1)), int(self.loads.max(initial=0)) + 1)
        # A potential is at most the cost of a path through all nodes.
        narrow = (self.hub + 1) * steepest < _NARROW // 128
        self.kind: Any = np.int32 if narrow else np.int64  # memory bandwidth limits a pass over the matrix
        self.forbidden = _NARROW if narrow else _WIDE
        self.add = np.where(may_add, more, self.forbidden).astype(self.kind)
        self.take = np.ascontiguousarray(np.where(may_take, -less, self.forbidden).astype(self.kind).T)
        self.grow = np.empty(self.members, self.kind)
        self.shrink = np.empty(self.members, self.kind)
        for member in range(self.members):
            self._price_of_load(member)

    def close(self, cells: Mask) -> None:
        """Remove arcs that add, until the next ``price``."""
        self.add[cells] = self.forbidden

    def close_hub(self) -> None:
        """Remove the hub, until the next ``price``."""
        self.grow[:] = self.shrink[:] = self.forbidden

    def cost(self, here: int, there: int) -> int:
        """Cost of one arc."""
        if here < self.topics:
            return int(self.add[here, there - self.topics])
        if here == self.hub:
            return int(self.shrink[there - self.topics])
        member = here - self.topics
        return int(self.grow[member] if there == self.hub else self.take[member, there])

    def room(self, here: int, there: int) -> int:
        """Return how many units fit into an arc until it is full or its cost in the goal ``Moved`` changes.

        Return 1 for an arc of the hub, because its cost in the goal ``Load`` changes with each unit.
        """
        if self.hub in (here, there):
            return 1
        if here < self.topics:
            cell = here, there - self.topics
            wanted = int(self.problem.owned[cell] - self.shares[cell])
            return wanted if wanted > 0 else _LARGE
        cell = there, here - self.topics
        beyond = int(self.shares[cell] - self.problem.owned[cell])
        return beyond if beyond > 0 else int(self.shares[cell] - self.problem.floor[cell])

    def room_for_even(self, here: int, there: int) -> int:
        """Return the units an arc takes before the share is larger than an even one; at least 1."""
        if here >= self.topics:
            return _LARGE
        return max(int(self._even[here] - self.shares[here, there - self.topics]), 1)

    def push(self, here: int, there: int, units: int) -> None:
        """Send units along an arc."""
        if here < self.topics:
            self._change_share(here, there - self.topics, units)
        elif here == self.hub:
            self._change_load(there - self.topics, -units)
        elif there == self.hub:
            self._change_load(here - self.topics, units)
        else:
            self._change_share(there, here - self.topics, -units)

    def _change_share(self, topic: int, member: int, units: int) -> None:
        self.shares[topic, member] += units
        cell = topic, member
        share = int(self.shares[cell])
        may_add = True
        may_take = share > self.problem.floor[cell]
        for goal, proof in self._changing:
            across = int(proof.topic[topic] - proof.member[member])
            may_add = may_add and across + goal.cell(share, cell) == 0
            may_take = may_take and across + goal.cell(share - 1, cell) == 0
        # Fixed goals need no check here: nothing is pushed along an arc that they have closed.
        if self.step > 1:
            may_add = may_add and self.room(topic, self.topics + member) >= self.step
            may_take = may_take and self.room(self.topics + member, topic) >= self.step
        self.add[cell] = self.goal.cell(share, cell) + self.step - 1 if may_add else self.forbidden
        self.take[member, topic] = (
            -self.goal.cell(share - 1, cell) + self.step - 1 if may_take else self.forbidden
        )

    def _change_load(self, member: int, units: int) -> None:
        self.loads[member] += units
        self._price_of_load(member)

    def _price_of_load(self, member: int) -> None:
        load = int(self.loads[member])
        grow = shrink = self.forbidden
        if self.step == 1 and self._is_free(member, load + 1):
            grow = load + 1 if self.goal.of_loads else 0
        if self.step == 1 and load > 0 and self._is_free(member, load):
            shrink = -load if self.goal.of_loads else 0
        self.grow[member], self.shrink[member] = grow, shrink

    def _is_free(self, member: int, cost: int) -> bool:
        """Whether the arc between a member and the hub costs nothing in all settled goals."""
        return all(
            int(proof.member[member]) + (cost if goal.of_loads else 0) == proof.hub
            for goal, proof in self._settled
        )
