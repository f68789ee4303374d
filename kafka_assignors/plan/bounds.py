"""Lower bounds of the largest load of any valid plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.drain_bound import DrainBound
from kafka_assignors.plan.model import Group
from kafka_assignors.plan.sticky.planner import plan_fair

_ROUNDS, _MOST_CELLS = 8, 2**22
"""Maximum number of rounds of ``_poured``, and of cells that these read.  At least two rounds are made."""

_MOST_K, _MOST_R = 8, 16
"""Maximum number of values of k, and of r, in the bound with k m + r partitions (``lag_lower_bound``)."""

_MOST_SORTED = 10_000
"""Maximum number of partitions that a quick bound sorts."""

_MOST_KINDS = 16
"""If topics are of more kinds than this (``Group.kinds``), the kinds are not examined one by one."""


def load_lower_bound(group: Group) -> int:
    """Return the smallest possible largest load; a load is a member's number of partitions.

    Exact for any subscriptions: the result is the largest load of the fair plan, because loads with the least
    sum of squares also have the least maximum.  Cost: that of ``plan_fair``.
    """
    return int(plan_fair(group).counts.max(initial=0))


def lag_lower_bound(group: Group) -> int:
    """Return a lower bound of the largest load of any valid plan; a load is a member's lag (records).

    Proven, not always tight: the largest of

    - the heaviest partition;
    - the lag of a set of topics, divided by its number of subscribers and rounded up.  A flow of lag, as if
      partitions could be divided, finds a set for which this is (nearly) largest;
    - for a set of topics with m subscribers, the k + 1 lightest of its k m + 1 heaviest partitions, because
      one member has at least k + 1 of these;
    - the same with k m + r partitions.  For some e from 1 to r, e members together have at least e k + r of
      these (see ``_of_heaviest``), so one of the members carries at least 1 / e of the e k + r lightest.
      The right e is unknown, so the least result over all e counts.

    With unequal capacities a load is weighted by capacity, and ``DrainBound`` has the bounds.

    Unknown lag counts as estimated by ``Group.lag``.  Cost: a sort, and with unequal subscriptions a few
    passes over the matrix of topics and members.
    """
    return LagBound(group).of_plans(np.zeros(len(group.members), np.int64))


def quick_lag_bound(group: Group) -> int:
    """Return a less tight bound than ``lag_lower_bound``, at a cost that no rebalance notices.

    The largest of

    - the heaviest partition;
    - the lag of a topic, or of all topics, divided by the number of its subscribers and rounded up.  With
      unequal capacities the divisor is the sum of the subscribers' capacities, each as a part of the largest;
    - the k + 1 lightest of the k m + 1 heaviest partitions, if all topics together have m subscribers.  This
      matters where members have few partitions, so it is left out above 10,000 partitions.

    Cost: a pass over the partitions and one over the matrix of topics and members, and a sort of the
    partitions if these are at most 10,000.
    """
    topics = group.assignable_topics
    subscribed = group.subscribed[topics]
    lag = group.lag[topics[group.topic_of]]
    if not len(lag):
        return 0
    ends = np.cumsum(group.counts[topics])
    by_topic = np.add.reduceat(lag, ends - group.counts[topics])
    subscribers = subscribed.any(axis=0)
    parts, most = group.capacities.parts, group.capacities.most
    bound = max(int(lag.max()), -(-int(lag.sum()) * most // int(parts[subscribers].sum())))
    of_topic = np.einsum("tm,m->t", subscribed, parts)  # a matrix product would copy the matrix as integers
    whole, rest = np.divmod(by_topic, of_topic)  # divide first, as in ``Capacities.of``
    bound = max(bound, int((whole * most - -(rest * most) // of_topic).max()))
    if len(lag) <= _MOST_SORTED:
        bound = max(bound, int(_heaviest(lag, int(subscribers.sum()))[2].max(initial=0)))
    return bound


def _heaviest(lag: Vector, members: int) -> tuple[Vector, Vector, Vector]:
    """Return the sums of the heaviest partitions, for m ``members``.

    Returns:
        The lag of the n heaviest partitions together, by n; the numbers k for which there are k m + 1
        partitions; and for each k the lag of the k + 1 lightest of the k m + 1 heaviest.
    """
    heavy = np.append(0, np.cumsum(-np.sort(-lag)))
    k = np.arange(1, (len(lag) - 1) // members + 1)
    return heavy, k, heavy[k * members + 1] - heavy[k * members - k]


class LagBound:
    """Computes ``lag_lower_bound`` for one group, and for any minimum counts of its members.

    A member with a minimum count has partitions beside the heavy ones.  These others weigh at least as much
    as equally many of the group's lightest partitions.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._topics = group.assignable_topics
        lag = np.sort(group.lag[self._topics[group.topic_of]])
        self._lightest = np.append(0, np.cumsum(lag))  # the lag of the n lightest partitions together, by n

    def of_plans(self, fewest: Vector, beyond: int | None = None) -> int:
        """Return the bound for plans that give each member at least ``fewest`` partitions.

        Args:
            fewest: by member, its minimum count.
            beyond: a load.  Stop after the first set of topics with which the bound is above it.
        """
        group = self._group
        topics = np.flatnonzero(self._topics)
        if not len(topics):
            return 0
        # Topics without subscribers lie between the others, so their lag must count as 0.
        lag = np.where(self._topics[group.topic_of], group.lag, 0)
        heaviest = np.maximum.reduceat(lag, group.firsts[topics])
        if not group.capacities.are_equal:
            bound = DrainBound(group.capacities, fewest, self._lightest)
            bound.raise_by_heaviest(heaviest, group.subscribed[topics])
            for topic_set in self._sets():
                subscribers: Mask = np.any(group.subscribed[topic_set], axis=0)
                bound.raise_by_set(group.lag[topic_set[group.topic_of]], subscribers)
                if beyond is not None and bound.load > beyond:
                    break
            return bound.load
        others = np.where(group.subscribed[topics], fewest, group.size).min(axis=1) - 1
        best = int((heaviest + self._lightest[np.clip(others, 0, len(self._lightest) - 2)]).max())
        for topic_set in self._sets():
            best = max(best, self._of_set(topic_set, fewest))
            if beyond is not None and best > beyond:
                break
        return best

    def _sets(self) -> Iterator[Mask]:
        """Yield the sets of topics to examine.

        First all topics; with unequal subscriptions also the most crowded set and, if kinds are few, each
        kind.
        """
        yield self._topics
        subscribed = self._group.subscribed[self._topics]
        if bool(subscribed[:, subscribed.any(axis=0)].all()):
            return
        yield self._most_crowded
        kind_of, _ = self._group.kinds
        kinds = np.unique(kind_of[self._topics]).tolist()
        if len(kinds) <= _MOST_KINDS:
            for kind in kinds:
                yield self._topics & (kind_of == kind)

    @cached_property
    def _most_crowded(self) -> Mask:
        """The set of topics with (nearly) the most lag per subscriber.

        All lag is divided among the subscribers like a liquid, and members are ranked by the result.  For
        each n there is a set: the topics whose subscribers are all among the n highest members.  The best of
        these sets is returned.
        """
        group = self._group
        total = np.zeros(len(group.names), np.int64)
        np.add.at(total, group.topic_of, group.lag)
        topics = np.flatnonzero(self._topics)
        subscribed = group.subscribed[topics]
        loads = _poured(total[topics].astype(np.float64), subscribed)
        rank = np.empty(len(loads), np.int64)
        rank[np.argsort(-loads, kind="stable")] = np.arange(len(loads))
        last = np.where(subscribed, rank, -1).max(axis=1)  # rank of each topic's last subscriber
        # By member: the lowest ``last`` of its topics; ``len(loads)`` if it subscribes to none.
        joins = np.where(subscribed, last[:, None], len(loads)).min(axis=0)
        members = np.cumsum(np.bincount(joins, minlength=len(loads) + 1))[last]
        lag = np.bincount(last, total[topics], len(loads))
        crowded = np.zeros_like(self._topics)
        crowded[topics] = last <= last[int((np.cumsum(lag)[last] / members).argmax())]
        return crowded

    def _of_set(self, topics: Mask, fewest: Vector) -> int:
        """The bound from one set of topics, and from the partitions that fill up minimum counts."""
        lag = self._group.lag[topics[self._group.topic_of]]
        subscribers = self._group.subscribed[topics].any(axis=0)
        members = int(subscribers.sum())
        bound = -(-int(lag.sum()) // members)
        heavy, numbers, heavy_k = _heaviest(lag, members)
        least = int(fewest[subscribers].min())
        others = np.clip(least - numbers - 1, 0, len(self._lightest) - 1)
        bound = max(bound, int((heavy_k + self._lightest[others]).max(initial=0)))
        for k in numbers[:_MOST_K].tolist():
            most = min(len(lag) - k * members, members)
            for r in sorted({-(-most * part // _MOST_R) for part in range(1, _MOST_R + 1)}):
                bound = max(bound, self._of_heaviest(heavy, members, k, r, least))
        return bound

    def _of_heaviest(self, heavy: Vector, members: int, k: int, r: int, least: int) -> int:
        """The bound from the k m + r heaviest partitions; m is ``members``, ``least`` their minimum count.

        If e members have more than k of them, they have at least e k + r together, because each other member
        has at most k.  If e is above r, take any r of these members instead: each has at least k + 1, so
        together they have at least r k + r.  These partitions weigh at least as much as the e k + r lightest
        of the heaviest.  The lightest partitions of all fill the e members up to their minimum count.  One of
        the e members carries at least 1 / e of the total.
        """
        e = np.arange(1, r + 1)
        theirs = e * k + r
        last = k * members + r
        others = np.clip(e * least - theirs, 0, len(self._lightest) - 1)
        total = heavy[last] - heavy[last - theirs] + self._lightest[others]
        return int((-(-total // e)).min())


def _poured(lag: npt.NDArray[np.float64], subscribed: Mask) -> npt.NDArray[np.float64]:
    """By member: its load when each topic's lag is divided so that loads become even.

    Each round pours one topic after the other onto the lowest loads, which converges to the fairest division.
    A few rounds are enough to rank the members.
    """
    subscribers = [np.flatnonzero(row) for row in subscribed]
    loads = np.zeros(subscribed.shape[1])
    poured = [np.zeros(len(members)) for members in subscribers]
    for _ in range(min(max(_MOST_CELLS // max(subscribed.size, 1), 2), _ROUNDS)):
        for topic, members in enumerate(subscribers):
            others = loads[members] - poured[topic]
            ascending = np.sort(others)
            levels = (lag[topic] + np.cumsum(ascending)) / np.arange(1, len(members) + 1)
            # The members whose other load lies below the level share the topic.
            sharing = int((ascending < levels).sum())
            poured[topic] = np.maximum(levels[max(sharing, 1) - 1] - others, 0)
            loads[members] = others + poured[topic]
    return loads
