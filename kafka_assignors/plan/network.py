"""Minimum-cost flow: from a good matrix of shares to the best one, with the proof.

A matrix is optimal for a goal exactly when there are potentials under which no arc of the residual network
has a negative reduced cost.  So:

1. Often the goal itself knows such potentials, or a few rounds of Bellman and Ford find them.
2. Else start from the better of two guesses, and use up every arc that is negative under it.  Now no arc is,
   but some nodes have too much and others too little.
3. Send it back on shortest paths: label all nodes with their distance from those that have too much, which
   makes the new potentials, and push a blocking flow through the layers of arcs that cost nothing under
   them (the primal-dual method, Ford and Fulkerson 1962; its layers are Dinic's).  A phase is a handful of
   passes over the matrix.  A few are enough where shares are small numbers; where few members share topics of
   thousands of partitions there may be one for every unit or two that is off (docs/planner.md).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from kafka_assignors.plan.goals import Goal, Potentials, Vector
from kafka_assignors.plan.residual import Residual

__all__ = ["settle"]

_ROUNDS = 6
"""Of Bellman and Ford, before guessing; without negative cycles four are usually enough."""


def settle(residual: Residual, goal: Goal) -> None:
    """Make the shares optimal for a goal, without harm to those settled before."""
    state = residual.problem, residual.shares, residual.loads
    if goal.holds(*state):
        residual.settled(goal, goal.guess(*state))
        return
    residual.price(goal)
    labels = _Labels(residual)
    if not labels.relax(_ROUNDS):
        labels = _best_guess(residual, goal, labels)
        excess = _use_up(residual, labels)
        while bool((excess > 0).any()):
            _Phase(residual, labels, excess).run()
    residual.settled(goal, labels.potentials())


class _Labels:
    """A label for every node, and the arcs' power to lower them."""

    def __init__(self, residual: Residual, start: Potentials | None = None) -> None:
        self._net = residual
        kind = residual.kind
        self.topic = np.zeros(residual.topics, kind) if start is None else start.topic.astype(kind)
        self.member = np.zeros(residual.members, kind) if start is None else start.member.astype(kind)
        self.hub = 0 if start is None else start.hub

    def potentials(self) -> Potentials:
        return Potentials(self.topic.astype(np.int64), self.member.astype(np.int64), int(self.hub))

    def relax(self, rounds: int, *, into_hub: bool = True) -> bool:
        """Lower labels where an arc can; say whether that came to an end within so many rounds."""
        topics, hub, members = np.arange(self._net.topics), True, np.arange(self._net.members)
        for _ in range(rounds):
            lowered = self.reach_members(topics, hub)
            members = np.union1d(members, lowered) if len(members) < self._net.members else members
            topics, hub = self.reach_topics(members), into_hub and self.reach_hub(members)
            members = lowered[:0]
            if not len(topics) and not hub:
                return True
        return False

    def reach_members(self, topics: Vector, hub: bool) -> Vector:
        """Lower the members' labels from those of ``topics`` and of the hub; return which fell."""
        value = self.member
        if len(topics):
            add = self._net.add if len(topics) == self._net.topics else self._net.add[topics]
            value = np.minimum(value, (add + self.topic[topics, None]).min(axis=0))
        if hub:
            value = np.minimum(value, self._net.shrink + self._net.kind(self.hub))
        fallen = np.flatnonzero(value < self.member)
        self.member = value
        return fallen

    def reach_topics(self, members: Vector) -> Vector:
        """Lower the topics' labels from those of ``members``; return which fell."""
        if not len(members):
            return members
        take = self._net.take if len(members) == self._net.members else self._net.take[members]
        value = np.minimum(self.topic, (take + self.member[members, None]).min(axis=0))
        fallen = np.flatnonzero(value < self.topic)
        self.topic = value
        return fallen

    def reach_hub(self, members: Vector) -> bool:
        """Lower the hub's label from those of ``members``; say whether it fell."""
        if not len(members):
            return False
        value = int((self.member[members] + self._net.grow[members]).min())
        fallen = value < self.hub
        self.hub = min(value, self.hub)
        return fallen

    def negative(self) -> tuple[Any, Any, Vector, Vector]:
        """By how much arcs are negative, as arrays laid out as the costs are; 0 where they are not."""
        net = self._net
        there = net.forbidden // 2
        add = np.where(net.add < there, np.minimum(net.add + self.topic[:, None] - self.member, 0), 0)
        take = np.where(net.take < there, np.minimum(net.take + self.member[:, None] - self.topic, 0), 0)
        grow = np.where(net.grow < there, np.minimum(net.grow + self.member - self.hub, 0), 0)
        shrink = np.where(net.shrink < there, np.minimum(net.shrink + self.hub - self.member, 0), 0)
        return add, take, grow, shrink


def _best_guess(residual: Residual, goal: Goal, relaxed: _Labels) -> _Labels:
    """The labels that leave the least to repair: the goal's own guess, or what the arcs made of them.

    Arcs without a capacity must not be negative, as they cannot be used up: those that add, unless the goal
    is curved.  The goal's own guess sees to that, and so do labels that took everything into account but
    the arcs into the hub.
    """
    guess = _Labels(residual, goal.guess(residual.problem, residual.shares, residual.loads))
    if goal.of_loads:
        relaxed = _Labels(residual)
        relaxed.relax(residual.hub + 2, into_hub=False)
    elif not goal.curved:
        return guess
    return min(guess, relaxed, key=lambda labels: -sum(int(part.sum()) for part in labels.negative()))


def _use_up(residual: Residual, labels: _Labels) -> Vector:
    """Push along every negative arc until none is; return by how much each node has too much."""
    excess = np.zeros(residual.hub + 1, np.int64)

    def push(here: int, there: int, negative: int) -> None:
        units = residual.room(here, there)
        if residual.hub in (here, there):
            units = -negative if residual.goal.of_loads else 1
        elif residual.goal.curved:
            units = min(units, (1 - negative) // 2)
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


class _Phase:
    """One round of the primal-dual method."""

    def __init__(self, residual: Residual, labels: _Labels, excess: Vector) -> None:
        self._net, self._labels, self._excess = residual, labels, excess
        self._before = labels.potentials()
        self._layer = np.full(residual.hub + 1, -1)
        self._next: dict[int, list[int]] = {}

    def run(self) -> None:
        """Label, send what the layers carry, and raise the potentials."""
        self._measure()
        reach = self._reach()
        for source in np.flatnonzero(self._excess > 0).tolist():
            while self._excess[source] > 0 and (path := self._path(source)):
                self._send(path)
        before, labels = self._before, self._labels
        kind = self._net.kind
        labels.topic = np.minimum(labels.topic, before.topic + reach).astype(kind)
        labels.member = np.minimum(labels.member, before.member + reach).astype(kind)
        labels.hub = min(labels.hub, before.hub + reach)

    def _measure(self) -> None:
        """Label every node with its potential plus its distance from where there is too much."""
        net, labels, layer = self._net, self._labels, self._layer
        far = net.forbidden // 16
        source = self._excess > 0
        topic, member, hub = source[: net.topics], source[net.topics : net.hub], bool(source[net.hub])
        labels.topic = np.where(topic, labels.topic, labels.topic + far).astype(net.kind)
        labels.member = np.where(member, labels.member, labels.member + far).astype(net.kind)
        labels.hub = labels.hub if hub else labels.hub + far
        topics, waiting = np.flatnonzero(topic), np.flatnonzero(member)
        # Members are reached in odd layers, topics and the hub in even ones.
        layer[source] = 0
        layer[net.topics + waiting] = 1
        at = 1
        while len(topics) or hub or len(waiting):
            members = labels.reach_members(topics, hub)
            layer[net.topics + members] = at
            members = np.union1d(members, waiting) if len(waiting) else members
            waiting = waiting[:0]
            topics, hub = labels.reach_topics(members), labels.reach_hub(members)
            layer[topics] = at + 1
            if hub:
                layer[net.hub] = at + 1
            at += 2

    def _reach(self) -> int:
        """The distance of the farthest node that has too little and can be reached."""
        before, labels = self._before, self._labels
        distance = np.concatenate(
            [labels.topic - before.topic, labels.member - before.member, [labels.hub - before.hub]]
        )
        distances = distance[self._excess < 0]
        return int(distances[distances < self._net.forbidden // 32].max())

    def _path(self, source: int) -> list[int]:
        """A path of free arcs through the layers to a node that has too little; empty if there is none.

        Arcs that lead nowhere are struck out, so that nobody tries them twice.
        """
        path = [source]
        while path:
            here = path[-1]
            if self._excess[here] < 0:
                return path
            arcs = self._next.get(here)
            if arcs is None:
                arcs = self._next[here] = self._arcs(here)
            while arcs and not self._is_free(here, arcs[-1]):
                arcs.pop()
            if arcs:
                path.append(arcs[-1])
            else:
                path.pop()
                if path:
                    self._next[path[-1]].pop()
        return path

    def _send(self, path: list[int]) -> None:
        arcs = list(pairwise(path))
        units = 1
        if not self._net.goal.curved:
            units = min(int(self._excess[path[0]]), -int(self._excess[path[-1]]))
            units = min(units, *(self._net.room(here, there) for here, there in arcs))
        for here, there in arcs:
            self._net.push(here, there, units)
        self._excess[path[0]] -= units
        self._excess[path[-1]] += units

    def _label(self, node: int) -> int:
        net, labels = self._net, self._labels
        if node < net.topics:
            return int(labels.topic[node])
        return int(labels.hub if node == net.hub else labels.member[node - net.topics])

    def _is_free(self, here: int, there: int) -> bool:
        """Whether an arc is still there and costs nothing under the new labels."""
        return self._label(here) + self._net.cost(here, there) == self._label(there)

    def _arcs(self, here: int) -> list[int]:
        """Free arcs to the next layer; the last is tried first."""
        net, labels = self._net, self._labels
        topic_layer, member_layer = self._layer[: net.topics], self._layer[net.topics : net.hub]
        following, label = self._layer[here] + 1, self._label(here)
        if here == net.hub or here < net.topics:
            cost = net.shrink if here == net.hub else net.add[here]
            free = (cost + net.kind(label) == labels.member) & (member_layer == following)
            return [net.topics + member for member in np.flatnonzero(free).tolist()[::-1]]
        free = (net.take[here - net.topics] + net.kind(label) == labels.topic) & (topic_layer == following)
        arcs: list[int] = np.flatnonzero(free).tolist()[::-1]
        return [*arcs, net.hub] if self._layer[net.hub] == following else arcs
