"""Labels of the nodes of a residual network, and flow along arcs of reduced cost 0."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.sticky.goals import Potentials
from kafka_assignors.plan.sticky.residual import Residual

_SPARSE = 16
"""If at most one in 16 cells of the rows to read is subscribed, only the subscribed cells are read."""

_SMALL_MATRIX = 4096
"""Up to this many cells, reading whole rows is faster than looking up the subscribed cells."""


class Labels:
    """A label for every node, which arcs can lower.

    An arc lowers the label of its end to the label of its start plus its cost.

    Args:
        residual: the network.
        start: the first labels; None: all are 0.
    """

    def __init__(self, residual: Residual, start: Potentials | None = None) -> None:
        self._net = residual
        kind = residual.kind
        self.topic = np.zeros(residual.topics, kind) if start is None else start.topic.astype(kind)
        self.member = np.zeros(residual.members, kind) if start is None else start.member.astype(kind)
        self.hub = 0 if start is None else start.hub

    def potentials(self) -> Potentials:
        """Return the labels as potentials."""
        return Potentials(self.topic.astype(np.int64), self.member.astype(np.int64), int(self.hub))

    def convert(self) -> None:
        """Convert to the numpy type of the network, which may have changed."""
        self.topic, self.member = self.topic.astype(self._net.kind), self.member.astype(self._net.kind)

    def relax(self, rounds: int) -> bool:
        """Lower labels for at most ``rounds`` rounds; return whether no arc can lower one any more."""
        topics, hub, members = np.arange(self._net.topics), True, np.arange(self._net.members)
        for _ in range(rounds):
            lowered = self.reach_members(topics, hub)
            members = np.union1d(members, lowered) if len(members) < self._net.members else members
            topics, hub = self.reach_topics(members), self.reach_hub(members)
            members = lowered[:0]
            if not len(topics) and not hub:
                return True
        return False

    def reach_members(self, topics: Vector, hub: bool) -> Vector:
        """Lower the members' labels from ``topics`` and the hub; return the members whose label fell."""
        value = self.member
        if len(topics):
            value = _lowest(value, self._net.add, self.topic, topics, self._net.edges.of_topics)
        if hub:
            value = np.minimum(value, self._net.shrink + self._net.kind(self.hub))
        fallen: Vector = (value < self.member).nonzero()[0]
        self.member = value
        return fallen

    def reach_topics(self, members: Vector) -> Vector:
        """Lower the topics' labels from ``members``; return the topics whose label fell."""
        if not len(members):
            return members
        value = _lowest(self.topic, self._net.take, self.member, members, self._net.edges.of_members)
        fallen: Vector = (value < self.topic).nonzero()[0]
        self.topic = value
        return fallen

    def reach_hub(self, members: Vector) -> bool:
        """Lower the hub's label from ``members``; return whether it fell."""
        if not len(members):
            return False
        value = int((self.member[members] + self._net.grow[members]).min())
        has_fallen = value < self.hub
        self.hub = min(value, self.hub)
        return has_fallen

    def negative(self) -> tuple[Any, Any, Vector, Vector]:
        """Return the negative reduced costs of the arcs, in arrays shaped as the costs; 0 elsewhere."""
        net = self._net
        limit = net.forbidden // 2  # arcs of higher cost do not exist
        add = np.where(net.add < limit, np.minimum(net.add + self.topic[:, None] - self.member, 0), 0)
        take = np.where(net.take < limit, np.minimum(net.take + self.member[:, None] - self.topic, 0), 0)
        grow = np.where(net.grow < limit, np.minimum(net.grow + self.member - self.hub, 0), 0)
        shrink = np.where(net.shrink < limit, np.minimum(net.shrink + self.hub - self.member, 0), 0)
        return add, take, grow, shrink


def _lowest(
    value: Any,
    costs: Any,
    labels: Any,
    rows: Vector,
    edges: Callable[[Vector], tuple[Vector, Vector]],
) -> Any:
    """Return the labels of the columns, lowered by the arcs of some rows."""
    if len(rows) == len(costs):
        return np.minimum(value, (costs + labels[:, None]).min(axis=0))
    if costs.size <= _SMALL_MATRIX:
        return np.minimum(value, (costs[rows] + labels[rows, None]).min(axis=0))
    indices, columns = edges(rows)
    if _SPARSE * len(columns) > len(rows) * costs.shape[1]:
        return np.minimum(value, (costs[rows] + labels[rows, None]).min(axis=0))
    value = value.copy()
    from_rows = rows[indices]
    np.minimum.at(value, columns, costs[from_rows, columns] + labels[from_rows])
    return value


class FlowPhase:
    """One phase of the flow: measure distances, send along the shortest paths, raise the potentials.

    Args:
        residual: the network; no arc is negative under ``labels``.
        labels: the potentials; ``measure`` adds the distances, and ``send`` makes them the new potentials.
        excess: the excess of each node, negative for a deficit; changed in place.
    """

    def __init__(self, residual: Residual, labels: Labels, excess: Vector) -> None:
        self._net, self._labels, self._excess = residual, labels, excess
        self._excess_before = excess.copy()
        self._before = labels.potentials()
        self._layer = np.full(residual.hub + 1, -1)
        self._next: dict[int, list[int]] = {}

    def measure(self) -> bool:
        """Label every node; return whether excess can reach a node with a deficit."""
        self._label_all()
        reachable = self._excess[self.reached()] < 0
        return bool(reachable.any())

    def reached(self) -> Mask:
        """By node: whether excess can reach it."""
        # The distance of a node out of reach stays near ``far`` (see `_label_all`), twice this limit.
        return self._distance() < self._net.forbidden // 32

    def send(self) -> None:
        """Push along shortest paths until none is left, and raise the potentials."""
        for source in np.flatnonzero(self._excess > 0).tolist():
            while self._excess[source] > 0 and (path := self._path(source)):
                self._send(path)
        distance = self._distance()
        # Beyond the farthest deficit that was reached, all potentials rise by the same amount.
        farthest = int(distance[(self._excess_before < 0) & self.reached()].max())
        before, labels = self._before, self._labels
        kind = self._net.kind
        labels.topic = np.minimum(labels.topic, before.topic + farthest).astype(kind)
        labels.member = np.minimum(labels.member, before.member + farthest).astype(kind)
        labels.hub = min(labels.hub, before.hub + farthest)

    def _distance(self) -> Vector:
        before, labels = self._before, self._labels
        return np.concatenate(
            [labels.topic - before.topic, labels.member - before.member, [labels.hub - before.hub]]
        )

    def _label_all(self) -> None:
        """Label every node with its potential plus its distance from the excess."""
        net, labels, layer = self._net, self._labels, self._layer
        far = net.forbidden // 16
        source = self._excess > 0
        topic, member, hub = source[: net.topics], source[net.topics : net.hub], bool(source[net.hub])
        labels.topic = np.where(topic, labels.topic, labels.topic + far).astype(net.kind)
        labels.member = np.where(member, labels.member, labels.member + far).astype(net.kind)
        labels.hub = labels.hub if hub else labels.hub + far
        topics, waiting = np.flatnonzero(topic), np.flatnonzero(member)
        # Members are in odd layers, topics and the hub in even ones.
        layer[source] = 0
        layer[net.topics + waiting] = 1
        depth = 1
        while len(topics) or hub or len(waiting):
            members = labels.reach_members(topics, hub)
            layer[net.topics + members] = depth
            members = np.union1d(members, waiting) if len(waiting) else members
            waiting = waiting[:0]
            topics, hub = labels.reach_topics(members), labels.reach_hub(members)
            layer[topics] = depth + 1
            if hub:
                layer[net.hub] = depth + 1
            depth += 2

    def _path(self, source: int) -> list[int]:
        """A path of free arcs to a node with a deficit, or an empty list.  Dead ends are tried only once."""
        path = [source]
        while path:
            here = path[-1]
            if self._excess[here] < 0:
                return path
            arcs = self._next.get(here)
            if arcs is None:
                arcs = self._next[here] = self._arcs(here)
            if arcs:
                path.append(arcs[-1])
            else:
                path.pop()
                if path:
                    self._next[path[-1]].pop()
        return path

    def _send(self, path: list[int]) -> None:
        arcs = list(pairwise(path))
        units = self._net.step
        if not self._net.goal.curved:
            units = min(int(self._excess[path[0]]), -int(self._excess[path[-1]]))
            units = min(units, *(self._net.room(here, there) for here, there in arcs))
            units = min(units, *(self._net.room_for_even(here, there) for here, there in arcs))
        for here, there in arcs:
            self._net.push(here, there, units)
            free = self._next[here]
            arc = free.pop()  # the arc of the path
            if self._is_free(here, there):
                free.insert(0, arc)  # try the other arcs next, so that units spread
        self._excess[path[0]] -= units
        self._excess[path[-1]] += units

    def _label(self, node: int) -> int:
        net, labels = self._net, self._labels
        if node < net.topics:
            return int(labels.topic[node])
        return int(labels.hub if node == net.hub else labels.member[node - net.topics])

    def _is_free(self, here: int, there: int) -> bool:
        """Whether an arc exists and has reduced cost 0 under the new labels."""
        return self._label(here) + self._net.cost(here, there) == self._label(there)

    def _arcs(self, here: int) -> list[int]:
        """The free arcs to the next layer.  The last is tried first."""
        net, labels = self._net, self._labels
        topic_layer, member_layer = self._layer[: net.topics], self._layer[net.topics : net.hub]
        following, label = self._layer[here] + 1, self._label(here)
        if here == net.hub or here < net.topics:
            cost = net.shrink if here == net.hub else net.add[here]
            free = (cost + net.kind(label) == labels.member) & (member_layer == following)
            return [net.topics + member for member in free.nonzero()[0].tolist()[::-1]]
        free = (net.take[here - net.topics] + net.kind(label) == labels.topic) & (topic_layer == following)
        arcs: list[int] = free.nonzero()[0].tolist()[::-1]
        if self._layer[net.hub] == following and self._is_free(here, net.hub):
            arcs.append(net.hub)
        return arcs
