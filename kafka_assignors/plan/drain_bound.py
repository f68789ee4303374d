"""Lower bound of the largest load where capacities are unequal."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.capacity import Capacities

_MOST_N = 64
"""Limit of the numbers n that are tried, when the n heaviest partitions of a set are examined."""

_MOST_TOPICS = 256
"""Maximum number of topics whose heaviest partition is examined."""


class DrainBound:
    """A lower bound that each examined set of topics may raise.

    A load is a member's records by its capacity.  So if no load may exceed L, each member has *room* for a
    number of records.  The bound rises above L if one of these proves that the rooms are too small:

    - a topic's heaviest partition fits into no subscriber's room, together with the other partitions that
      this subscriber must have;
    - the k heaviest partitions of a set of topics outweigh the k largest rooms of its subscribers (at most k
      members have these partitions), or all partitions of the set outweigh the rooms of all its subscribers;
    - the subscribers of a set cannot hold its n heaviest partitions: if each took the lightest of these until
      it is full, all of them would hold fewer than n;
    - the k slowest members cannot hold the partitions that they must have at least, even if these are the
      lightest of the group.

    Args:
        capacities: of the members.
        fewest: by member, its minimum count: its fewest partitions in any plan.
        lightest: the lag of the n lightest partitions of the group together, by n.

    Attributes:
        load: the bound.
    """

    def __init__(self, capacities: Capacities, fewest: Vector, lightest: Vector) -> None:
        self.load = 0
        self._capacities, self._fewest, self._lightest = capacities, fewest, lightest
        members = np.flatnonzero(fewest)
        slowest = members[np.argsort(capacities.parts[members], kind="stable")]
        self._raise_by_share(
            self._of_lightest(np.cumsum(fewest[slowest])), np.cumsum(capacities.parts[slowest])
        )

    def raise_by_heaviest(self, heaviest: Vector, subscribed: Mask) -> None:
        """Raise the bound for the heaviest partition (records) of each topic."""
        topics = np.argsort(-heaviest, kind="stable")[:_MOST_TOPICS]
        heaviest, subscribed = heaviest[topics], subscribed[topics]
        others = self._of_lightest(np.maximum(self._fewest - 1, 0))
        loads: Matrix = self._capacities.loads(heaviest[:, None] + others)
        never = np.iinfo(np.int64).max
        self.load = max(self.load, int(np.where(subscribed, loads, never).min(axis=1).max()))

    def raise_by_set(self, lags: Vector, subscribers: Mask) -> None:
        """Raise the bound for the partitions of a set of topics, and their subscribers."""
        parts = -np.sort(-self._capacities.parts[subscribers])
        heavy = np.append(0, np.cumsum(-np.sort(-lags)))
        size = len(lags)
        k = np.arange(1, min(len(parts), size + 1))  # fewer than all members
        self._raise_by_share(np.append(heavy[k], heavy[-1]), np.cumsum(parts)[np.append(k - 1, -1)])
        fewest = int(self._fewest[subscribers].min())
        numbers = np.linspace(1, min(size, 8 * len(parts)), _MOST_N).astype(np.int64)
        for n in np.unique(numbers).tolist():
            i = np.arange(n + 1)
            least = heavy[n] - heavy[n - i] + self._of_lightest(np.maximum(fewest - i, 0))
            # ``least`` may fall as i grows.  But a member with room for i partitions has room for fewer, too,
            # so make it non-decreasing.
            self._raise_by_count(np.minimum.accumulate(least[::-1])[::-1], parts)

    def _raise_by_share(self, records: Vector, parts: Vector) -> None:
        """Raise the bound for sets of members: each holds at least ``records``, with capacity ``parts``."""
        most = self._capacities.most
        for total, part in zip(records.tolist(), parts.tolist(), strict=True):
            self.load = max(self.load, -(-total * most // part))

    def _raise_by_count(self, least: Vector, parts: Vector) -> None:
        """Raise the bound for the n heaviest partitions of a set.

        Args:
            least: the fewest records of a member with at least i of these partitions, by i from 0 to n.
            parts: by subscriber, its capacity.
        """
        n, most = len(least) - 1, self._capacities.most

        def is_enough(load: int) -> bool:
            # Divide first, because the product could be too large for 64 bits.
            rooms = load // most * parts + load % most * parts // most
            return int((least.searchsorted(rooms, "right") - 1).clip(0).sum()) >= n

        low, high = self.load, int(least[-1]) * self._capacities.ratio
        if is_enough(low):
            return
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
        self.load = low

    def _of_lightest(self, counts: Vector) -> Vector:
        return self._lightest[np.clip(counts, 0, len(self._lightest) - 1)]
