"""Lower bound of the largest load where capacities are unequal."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.capacity import Capacities
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector

_MOST_HEAVIEST = 64
"""Numbers of heaviest partitions that are examined."""

_MOST_TOPICS = 256
"""Topics whose heaviest partition is examined."""


class DrainBound:
    """The smallest load that no proof excludes; it rises with each set of topics.

    A load gives each member room for some records.  It is excluded if the rooms are too small:

    - a topic's heaviest partition fits into no subscriber's room, with the further partitions the rule of
      counts gives that subscriber;
    - the k heaviest partitions of a set of topics outweigh the k largest rooms of its subscribers, because at
      most k members have them.  All partitions outweigh all rooms;
    - the subscribers of a set have room for fewer than n of its n heaviest partitions, even if each takes the
      lightest of them;
    - the fewest partitions that the rule of counts gives the k slowest members outweigh their rooms.

    Args:
        capacities: of the members.
        fewest: by member, its fewest partitions in any plan.
        lightest: the lag of the n lightest partitions of the group together, by n.

    Attributes:
        load: the bound.
    """

    def __init__(self, capacities: Capacities, fewest: Vector, lightest: Vector) -> None:
        self.load = 0
        self._capacities, self._fewest, self._lightest = capacities, fewest, lightest
        bound = np.flatnonzero(fewest)
        slowest = bound[np.argsort(capacities.parts[bound], kind="stable")]
        self._rise_to_share(
            self._of_lightest(np.cumsum(fewest[slowest])), np.cumsum(capacities.parts[slowest])
        )

    def rise_to_heaviest(self, heaviest: Vector, subscribed: Mask) -> None:
        """Raise the bound for the heaviest partition (records) of each topic."""
        topics = np.argsort(-heaviest, kind="stable")[:_MOST_TOPICS]
        heaviest, subscribed = heaviest[topics], subscribed[topics]
        others = self._of_lightest(np.maximum(self._fewest - 1, 0))
        loads: Matrix = self._capacities.loads(heaviest[:, None] + others)
        never = np.iinfo(np.int64).max
        self.load = max(self.load, int(np.where(subscribed, loads, never).min(axis=1).max()))

    def rise_to_set(self, lags: Vector, subscribers: Mask) -> None:
        """Raise the bound for the partitions of a set of topics, and their subscribers."""
        parts = -np.sort(-self._capacities.parts[subscribers])
        heavier = np.append(0, np.cumsum(-np.sort(-lags)))
        size = len(lags)
        few = np.arange(1, min(len(parts), size + 1))  # fewer than all members
        self._rise_to_share(np.append(heavier[few], heavier[-1]), np.cumsum(parts)[np.append(few - 1, -1)])
        fewest = int(self._fewest[subscribers].min())
        for n in np.unique(
            np.linspace(1, min(size, 8 * len(parts)), _MOST_HEAVIEST).astype(np.int64)
        ).tolist():
            of = np.arange(n + 1)
            least = heavier[n] - heavier[n - of] + self._of_lightest(np.maximum(fewest - of, 0))
            # A member with room for i partitions has room for fewer, even if these weigh more by this bound.
            self._rise_to_count(np.minimum.accumulate(least[::-1])[::-1], parts)

    def _rise_to_share(self, records: Vector, parts: Vector) -> None:
        """Members with these parts of capacity together have at least these records."""
        most = self._capacities.most
        for total, part in zip(records.tolist(), parts.tolist(), strict=True):
            self.load = max(self.load, -(-total * most // part))

    def _rise_to_count(self, least: Vector, parts: Vector) -> None:
        """Raise the bound; a member with i of the n partitions has at least ``least[i]`` records."""
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
