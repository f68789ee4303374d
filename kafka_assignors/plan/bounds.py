"""Lower bounds: loads and moves that no valid plan can beat."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.drain_bound import DrainBound
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.sticky.goals import Mask, Vector
from kafka_assignors.plan.sticky.planner import plan_fair

_ROUNDS, _MOST_CELLS = 8, 2**22
"""Rounds of pouring each topic's lag.  A large matrix gets fewer, at least two."""

_MOST_FULL, _PARTS = 8, 16
"""Rounds of the heaviest partitions that are examined, and parts of the round after them."""

_MOST_SORTED = 10_000
"""Partitions that a quick bound sorts at most."""

_MOST_KINDS = 16
"""With more distinct sets of subscribers than this, the sets are not examined one by one."""


def load_lower_bound(group: Group) -> int:
    """Return the smallest largest load of any valid plan; a load is a member's number of partitions.

    Exact for any subscriptions: loads with the least sum of squares also have the least maximum, so this is
    the largest load of the fair plan.  Cost: that of ``plan_fair``.
    """
    return int(plan_fair(group).loads.max(initial=0))


def lag_lower_bound(group: Group, *, fair: bool = False) -> int:
    """Return a lower bound of the largest load of any valid plan; a load is a member's lag (records).

    Proven, not always tight: the largest of

    - the heaviest partition;
    - the lag of a set of topics divided by its number of subscribers, rounded up.  A flow of lag, as if
      partitions could be divided, finds the set for which this is largest;
    - for a set of topics with m subscribers, the k m + 1 heaviest partitions: one member has k + 1 of them,
      which weigh at least as much as the k + 1 lightest of them.  Likewise for the k m + r heaviest, of which
      some e members, at most r, have e k + r.

    With ``fair`` it bounds the plans whose counts are as even as possible (``max_partition_skew`` of 1).
    There a member with some heavy partitions has further ones, which weigh at least as much as the lightest.

    With unequal capacities a load is weighted, and ``DrainBound`` has the bounds.

    Unknown lag counts as estimated by ``Group.lag``.  Cost: a sort, and with unequal subscriptions a few
    passes over the matrix of topics and members.
    """
    fewest = np.zeros(len(group.members), np.int64)
    if fair:
        # In two equally fair plans one member's counts differ by one at most.
        fewest = np.maximum(plan_fair(group).loads - 1, fewest)
        read = group.subscribed.any(axis=1) & (group.counts > 0)
        players = group.subscribed[read].any(axis=0)
        if group.subscribed[np.ix_(read, players)].all():
            fewest[players] = int(group.counts[read].sum()) // max(int(players.sum()), 1)
    return LagBound(group).of_plans(fewest)


def quick_lag_bound(group: Group) -> int:
    """Return a lower bound like ``lag_lower_bound``, less tight, at a cost that no rebalance notices.

    The largest of

    - the heaviest partition;
    - the lag of a topic, and of all topics, divided by its number of subscribers, rounded up;
    - with m subscribers of all topics, the k + 1 lightest of the k m + 1 heaviest partitions.  This matters
      where members have few partitions, so it is left out above 10,000 partitions.

    Cost: a pass over the partitions and one over the matrix of topics and members.
    """
    read = group.subscribed.any(axis=1) & (group.counts > 0)
    subscribed = group.subscribed[read]
    lag = group.lag[read[group.topic_of]]
    if not len(lag):
        return 0
    ends = np.cumsum(group.counts[read])
    by_topic = np.add.reduceat(lag, ends - group.counts[read])
    members = int(subscribed.any(axis=0).sum())
    bound = max(int(lag.max()), -(-int(lag.sum()) // members))
    bound = max(bound, int((-(-by_topic // subscribed.sum(axis=1))).max()))
    if len(lag) <= _MOST_SORTED:
        _heavier, _rounds, shared = _shared(lag, members)
        bound = max(bound, int(shared.max(initial=0)))
    return bound


def _shared(lag: Vector, members: int) -> tuple[Vector, Vector, Vector]:
    """Return the sums of the heaviest partitions, the numbers k, and the k + 1 lightest of k m + 1."""
    heavier = np.append(0, np.cumsum(-np.sort(-lag)))
    rounds = np.arange(1, (len(lag) - 1) // members + 1)  # after each, at least one partition is left
    return heavier, rounds, heavier[rounds * members + 1] - heavier[rounds * members - rounds]


class LagBound:
    """``lag_lower_bound`` for one group and several rules of counts."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._read = group.subscribed.any(axis=1) & (group.counts > 0)
        lag = np.sort(group.lag[self._read[group.topic_of]])
        self._lightest = np.append(0, np.cumsum(lag))

    def of_plans(self, fewest: Vector, beyond: int | None = None) -> int:
        """Bound the plans that give each member at least ``fewest`` partitions.

        The owner of a topic's heaviest partition then has further ones, which weigh at least as much as the
        lightest.  Likewise the owner of k + 1 of the heaviest.

        Args:
            fewest: by member, partitions.
            beyond: stop the search for better, costlier bounds at the first bound above this.
        """
        group = self._group
        topics = np.flatnonzero(self._read)
        if not len(topics):
            return 0
        # Topics without subscribers lie between the others, so their lag must count as 0.
        lag = np.where(self._read[group.topic_of], group.lag, 0)
        heaviest = np.maximum.reduceat(lag, group.firsts[topics])
        if not group.capacities.equal:
            bound = DrainBound(group.capacities, fewest, self._lightest)
            bound.rise_to_heaviest(heaviest, group.subscribed[topics])
            for some in self._sets():
                subscribers: Mask = np.any(group.subscribed[some], axis=0)
                bound.rise_to_set(group.lag[some[group.topic_of]], subscribers)
                if beyond is not None and bound.load > beyond:
                    break
            return bound.load
        others = np.where(group.subscribed[topics], fewest, group.size).min(axis=1) - 1
        best = int((heaviest + self._lightest[np.clip(others, 0, len(self._lightest) - 2)]).max())
        for some in self._sets():
            best = max(best, self._crowding(some, fewest))
            if beyond is not None and best > beyond:
                break
        return best

    def _sets(self) -> Iterator[Mask]:
        """The sets of topics to examine: all, the most crowded, and each set with the same subscribers."""
        group, read = self._group, self._read
        yield read
        subscribed = group.subscribed[read]
        if bool(subscribed[:, subscribed.any(axis=0)].all()):
            return
        yield self._most_crowded
        kinds: dict[bytes, list[int]] = {}
        for topic in np.flatnonzero(read).tolist():
            kinds.setdefault(group.subscribed[topic].tobytes(), []).append(topic)
        if len(kinds) <= _MOST_KINDS:
            for topics in kinds.values():
                some = np.zeros_like(read)
                some[topics] = True
                yield some

    @cached_property
    def _most_crowded(self) -> Mask:
        return _most_crowded(self._group, self._read)

    def _crowding(self, topics: Mask, fewest: Vector) -> int:
        """The lag that one subscriber of these topics must carry: theirs and that of its other partitions."""
        lag = self._group.lag[topics[self._group.topic_of]]
        subscribers = self._group.subscribed[topics].any(axis=0)
        members = int(subscribers.sum())
        bound = -(-int(lag.sum()) // members)
        heavier, rounds, shared = _shared(lag, members)
        least = int(fewest[subscribers].min())
        others = np.clip(least - rounds - 1, 0, len(self._lightest) - 1)
        bound = max(bound, int((shared + self._lightest[others]).max(initial=0)))
        for full in rounds[:_MOST_FULL].tolist():
            left = min(len(lag) - full * members, members)
            for more in sorted({-(-left * part // _PARTS) for part in range(1, _PARTS + 1)}):
                bound = max(bound, self._crowded(heavier, (members, full, more), least))
        return bound

    def _crowded(self, heavier: Vector, shape: tuple[int, int, int], least: int) -> int:
        """The bound from the ``full`` times ``members`` plus ``more`` heaviest partitions.

        Some e members have more than ``full`` of them, together at least e times ``full`` plus ``more``,
        because each other member has at most ``full``.  These weigh at least as much as the lightest of the
        heaviest.  The lightest of all fill these members up to their minimum count.  One of the e members
        carries at least the e-th part.
        """
        members, full, more = shape
        crowded = np.arange(1, more + 1)
        theirs = crowded * full + more
        last = full * members + more
        others = np.clip(crowded * least - theirs, 0, len(self._lightest) - 1)
        total = heavier[last] - heavier[last - theirs] + self._lightest[others]
        return int((-(-total // crowded)).min())


def _most_crowded(group: Group, read: Mask) -> Mask:
    """The set of topics with (nearly) the most lag per subscriber.

    All lag is divided among the subscribers like a liquid.  Members are ranked by the result.  Among the sets
    of topics that only the first few members subscribe to, the most crowded one is returned.
    """
    total = np.zeros(len(group.names), np.int64)
    np.add.at(total, group.topic_of, group.lag)
    topics = np.flatnonzero(read)
    subscribed = group.subscribed[topics]
    loads = _poured(total[topics].astype(np.float64), subscribed)
    rank = np.empty(len(loads), np.int64)
    rank[np.argsort(-loads, kind="stable")] = np.arange(len(loads))
    last = np.where(subscribed, rank, -1).max(axis=1)  # rank of each topic's last subscriber
    joins = np.where(subscribed, last[:, None], len(loads)).min(axis=0, initial=len(loads))
    members = np.cumsum(np.bincount(joins, minlength=len(loads) + 1))[last]
    lag = np.zeros(len(loads))
    np.add.at(lag, last, total[topics].astype(np.float64))
    crowded = np.zeros_like(read)
    if len(topics):
        crowded[topics] = last <= last[int((np.cumsum(lag)[last] / members).argmax())]
    return crowded


def _poured(lag: npt.NDArray[np.float64], subscribed: Mask) -> npt.NDArray[np.float64]:
    """By member: its load when each topic's lag is divided so that loads become even.

    Pouring one topic after the other onto the lowest loads converges to the fairest division.  A few rounds
    are enough to rank the members.
    """
    subscribers = [np.flatnonzero(row) for row in subscribed]
    loads = np.zeros(subscribed.shape[1])
    given = [np.zeros(len(members)) for members in subscribers]
    for _ in range(min(max(_MOST_CELLS // max(subscribed.size, 1), 2), _ROUNDS)):
        for topic, members in enumerate(subscribers):
            others = loads[members] - given[topic]
            ascending = np.sort(others)
            level = (lag[topic] + np.cumsum(ascending)) / np.arange(1, len(members) + 1)
            # The level is shared by the members whose other load lies below it.
            full = int((ascending < level).sum())
            given[topic] = np.maximum(level[max(full, 1) - 1] - others, 0)
            loads[members] = others + given[topic]
    return loads


def moves_lower_bound(group: Group, claims: Claims, load: int) -> int:
    """Return the fewest moves of owned partitions in any plan whose largest load is ``load``.

    A member that owns more must give partitions away, and giving the heaviest first takes the fewest.
    Cost: a sort.
    """
    owned = np.flatnonzero(claims.owner != NO_MEMBER)
    owner, lag = claims.owner[owned], group.lag[owned]
    order = np.lexsort((-lag, owner))
    moves = 0
    parts = np.split(lag[order], np.cumsum(np.bincount(owner, minlength=len(group.members)))[:-1])
    for mine, room in zip(parts, group.capacities.rooms(load), strict=False):
        excess = int(mine.sum()) - room
        if excess > 0:
            moves += int(np.searchsorted(np.cumsum(mine), excess)) + 1
    return moves
