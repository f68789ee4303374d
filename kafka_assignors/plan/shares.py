"""How many partitions of each topic each member gets: the exact optimum.

Partitions of one topic are interchangeable but for who owned them, so a plan is first a matrix of counts:
``shares[topic, member]``.  What is best is lexicographic:

1. fair: the sum of the squares of the members' loads is least (then KIP-54's balance score is least too);
2. sticky: the fewest units given beyond what a member owned of a topic, which is the same as most kept;
3. spread: the sum of the squares of the shares is least.

All three are separable convex costs of a transport problem (topics supply, members receive), so a matrix is
optimal exactly when its residual network has no cycle of negative cost (Klein 1967).  The plan is made in two
steps: a quick first matrix that is nearly always right (``_first``), then cycles are cancelled until none is
left (``_Network``).  The second step is the proof as much as the repair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["best_shares"]

Matrix = npt.NDArray[np.int64]
Vector = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_INT64 = 2**62  # with room to add two of them


def best_shares(supply: Vector, subscribed: Mask, owned: Matrix, *, keep_all: bool = False) -> Matrix:
    """The best matrix of shares.

    Args:
        supply: partitions of each topic, shape (topics,).
        subscribed: who may have what, shape (topics, members); each topic has a subscriber.
        owned: what each member owned of each topic, shape (topics, members); 0 where not subscribed.
        keep_all: nothing owned may be taken away ("fairest sticky"); only the rest is placed.

    Returns:
        Shares, shape (topics, members).  Equal inputs give equal results, and ties go to the member and the
        topic that come first.

    Cost: a pass over the matrix for each cancelled batch of cycles, plus those that show there is none left;
    about 1 s for 500 topics x 1,000 members (docs/benchmarks.md).  Memory: a few dense matrices of 8 bytes.
    """
    shares = _first(supply, subscribed, owned, keep_all)
    floor = owned if keep_all else np.zeros_like(owned)
    return _Network(supply, subscribed, owned, floor, shares).settle()


def _first(supply: Vector, subscribed: Mask, owned: Matrix, keep_all: bool) -> Matrix:
    """A good first matrix: everybody keeps a fair part of what they own, the rest is dealt out evenly."""
    shares: Matrix = owned.copy()
    if not keep_all and bool(subscribed.all()):
        _give_up(shares, _quotas(int(supply.sum()), shares.sum(axis=0)))
    left: Vector = supply - shares.sum(axis=1)
    if not left.any():
        return shares
    loads = shares.sum(axis=0)
    # The least subscribed topics first: they have the least choice.
    by_choice = np.argsort(subscribed.sum(axis=1), kind="stable")
    for topic in by_choice[left[by_choice] > 0]:
        _pour(int(left[topic]), np.flatnonzero(subscribed[topic]), shares[topic], loads)
    return shares


def _pour(units: int, who: Vector, row: Vector, loads: Vector) -> None:
    """Raise the lowest loads of ``who`` to one level; on a tie the smaller share of the topic goes first."""
    while units:
        lowest = loads[who].min()
        low = who[loads[who] == lowest]
        low = low[np.argsort(row[low], kind="stable")]
        above = loads[who][loads[who] > lowest]
        gap = int(above.min() - lowest) if len(above) else units
        each, rest = divmod(min(units, gap * len(low)), len(low))
        more = np.full(len(low), each, np.int64)
        more[:rest] += 1
        row[low] += more
        loads[low] += more
        units -= int(more.sum())


def _quotas(partitions: int, had: Vector) -> Vector:
    """Equal subscriptions: loads differ by one at most; who had more keeps the larger one, then seniority."""
    size, longer = divmod(partitions, len(had))
    quotas = np.full(len(had), size, np.int64)
    quotas[np.argsort(had <= size, kind="stable")[:longer]] += 1
    return quotas


def _give_up(shares: Matrix, quotas: Vector) -> None:
    """Members above their quota give up partitions of the topics of which they have most."""
    for member in np.flatnonzero(shares.sum(axis=0) > quotas):
        for _ in range(int(shares[:, member].sum() - quotas[member])):
            shares[np.argmax(shares[:, member]), member] -= 1


class _Network:
    """The residual network of a matrix of shares.

    Nodes: topics, members and one hub.  An arc topic -> member gives the member one more of the topic, the
    arc back takes one away; member -> hub lets its load grow by one, hub -> member lets it shrink.  A cycle
    leaves every topic's supply as it is.  Costs hold the three goals in one integer, each in a place value
    larger than what a simple cycle can add up to in the goals below it.

    A simple cycle passes the hub once, so of the loads only the order counts, and their ranks do as well as
    their squares.  That keeps the integers within 64 bits for thousands of members and topics of a million
    partitions; beyond that they are Python's own, exact and slow.
    """

    def __init__(
        self, supply: Vector, subscribed: Mask, owned: Matrix, floor: Matrix, shares: Matrix
    ) -> None:
        topics, members = subscribed.shape
        longest = 2 * (topics + members) + 2
        self.move = longest * (2 * int(supply.max(initial=0)) + 1) + 1
        self.load = longest * self.move
        limit = 8 * self.load * (2 * members + 2)
        self.kind: Any = np.int64 if limit < _INT64 else object
        self.forbidden = max(limit, _INT64)
        self.owned, self.floor = owned, floor
        self.shares = shares
        self.loads = shares.sum(axis=0)
        self.add = np.where(subscribed, self._cost(shares, owned), self.forbidden)
        self.take = np.where(shares > floor, -self._cost(shares - 1, owned), self.forbidden)
        self._rank()

    def _cost(self, shares: Any, owned: Any) -> Any:
        """Cost of one more than ``shares``."""
        return np.asarray(shares >= owned, self.kind) * self.move + 2 * np.asarray(shares, self.kind) + 1

    def _rank(self) -> None:
        """What it costs each member to take one more on its load, and to let one go."""
        members = len(self.loads)
        _levels, rank = np.unique(np.concatenate([self.loads, self.loads - 1]), return_inverse=True)
        rank = (rank + 1).astype(self.kind)
        self.grow = rank[:members] * self.load
        self.shrink = np.where(self.loads > 0, -rank[members:] * self.load, self.forbidden)

    def settle(self) -> Matrix:
        """Cancel negative cycles until there is none."""
        topics, members = self.shares.shape
        at_topic, at_member, at_hub = np.zeros(topics, self.kind), np.zeros(members, self.kind), 0
        rows, columns = np.arange(topics), np.arange(members)
        into_member = np.full(members, -1)  # the topic it is reached from, or `topics` for the hub
        into_topic = np.full(topics, -1)  # the member it is reached from
        into_hub = -1
        while True:
            calm = True
            through = at_topic[:, None] + self.add
            best = through.argmin(axis=0)
            value = through[best, columns]
            shrink = at_hub + self.shrink
            best = np.where(shrink < value, topics, best)
            value = np.minimum(value, shrink)
            better = value < at_member
            if better.any():
                calm = False
                at_member[better] = value[better]
                into_member[better] = best[better]
            through = at_member + self.take
            best = through.argmin(axis=1)
            value = through[rows, best]
            better = value < at_topic
            if better.any():
                calm = False
                at_topic[better] = value[better]
                into_topic[better] = best[better]
            grow = at_member + self.grow
            nearest = int(grow.argmin())
            if grow[nearest] < at_hub:
                calm = False
                at_hub, into_hub = int(grow[nearest]), nearest
            if calm:
                return self.shares
            if cycles := _cycles(into_topic, into_member, into_hub):
                for cycle in cycles:
                    self._cancel(cycle)
                self._rank()
                into_member[:], into_topic[:], into_hub = -1, -1, -1

    def _cancel(self, cycle: list[tuple[int, int]]) -> None:
        """Push one unit around a cycle of nodes (kind, index), each followed by where its arc leads."""
        for (kind, i), (to_kind, j) in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            if kind == _TOPIC:
                self._change(i, j, +1)
            elif kind == _MEMBER and to_kind == _TOPIC:
                self._change(j, i, -1)

    def _change(self, topic: int, member: int, by: int) -> None:
        self.shares[topic, member] += by
        self.loads[member] += by
        share, owned = int(self.shares[topic, member]), int(self.owned[topic, member])
        self.add[topic, member] = self._cost(share, owned)
        self.take[topic, member] = (
            -self._cost(share - 1, owned) if share > self.floor[topic, member] else self.forbidden
        )


_TOPIC, _MEMBER, _HUB = 0, 1, 2


def _cycles(into_topic: Vector, into_member: Vector, into_hub: int) -> list[list[tuple[int, int]]]:
    """All cycles of the predecessor graph, which are disjoint; each in the direction of its arcs."""
    topics, members = len(into_topic), len(into_member)
    hub = topics + members
    # Nodes in one row: topics, members, the hub.  A member's predecessor `topics` stands for the hub.
    before = np.concatenate(
        [
            np.where(into_topic >= 0, into_topic + topics, -1),
            np.where(into_member == topics, hub, into_member),
            [into_hub + topics if into_hub >= 0 else -1],
        ]
    ).tolist()
    seen = [0] * (hub + 1)
    found = []
    for start in range(hub + 1):
        node = start
        while node >= 0 and not seen[node]:
            seen[node] = start + 1
            node = before[node]
        if node >= 0 and seen[node] == start + 1:
            ring, at = [node], before[node]
            while at != node:
                ring.append(at)
                at = before[at]
            found.append(
                [
                    (_TOPIC, n) if n < topics else (_MEMBER, n - topics) if n < hub else (_HUB, 0)
                    for n in reversed(ring)
                ]
            )
    return found
