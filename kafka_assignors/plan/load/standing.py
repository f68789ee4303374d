"""A plan by load that is being worked on: who has what, in the order of lag."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import Group
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector

__all__ = ["Exchange", "Field", "Standing"]

Indices = npt.NDArray[np.int64]


class Exchange(NamedTuple):
    """What one member gives to another, and what it gets for it."""

    high: int
    low: int
    gives: tuple[int, ...]
    takes: tuple[int, ...]


class Field:
    """What stays the same all the while.

    Attributes:
        lag: by partition, records.
        topic_of: by partition.
        subscribed: shape (topics, members).
        dealt: the partitions that somebody subscribes to.
        players: the members that subscribe to one.
        equal: whether they all subscribe to the same.
    """

    def __init__(self, group: Group) -> None:
        self.lag: Vector = group.lag
        self.topic_of = group.topic_of
        self.subscribed = group.subscribed
        there = group.counts > 0
        self.plays: Mask = np.any(self.subscribed[there], axis=0)
        self.players = np.flatnonzero(self.plays)
        read: Mask = np.any(self.subscribed, axis=1)
        self.dealt = np.flatnonzero(read[group.topic_of])
        self.equal = bool(self.subscribed[np.ix_(there & read, self.plays)].all())

    def shares(self, owners: Owners) -> Matrix:
        """How many partitions of each topic each member has."""
        topics, members = self.subscribed.shape
        given = np.flatnonzero(owners >= 0)
        cells = self.topic_of[given].astype(np.int64) * members + owners[given]
        return np.bincount(cells, minlength=topics * members).reshape(topics, members)

    def counts(self, owners: Owners) -> Vector:
        """Partitions by member."""
        return np.bincount(owners[self.dealt], minlength=self.subscribed.shape[1])

    def loads(self, owners: Owners) -> Vector:
        """Records by member: exact, which sums of floats would not be."""
        loads = np.zeros(self.subscribed.shape[1], np.int64)
        np.add.at(loads, owners[self.dealt], self.lag[self.dealt])
        return loads


class Standing:
    """Who has what.

    Attributes:
        owner: by partition.
        loads: by member, records.
        counts: by member, partitions.
        parts: each member's partitions, lightest first.
        lags: their lags.
    """

    def __init__(self, field: Field, owners: Owners) -> None:
        self.field = field
        self.owner = owners.copy()
        self.loads = field.loads(owners)
        members = len(self.loads)
        by_lag = field.dealt[np.argsort(field.lag[field.dealt], kind="stable")]
        of = owners[by_lag]
        by_member = by_lag[np.argsort(of, kind="stable")]
        self.counts: Vector = np.bincount(of, minlength=members)
        cuts = np.cumsum(self.counts)[:-1]
        self.parts: list[Indices] = np.split(by_member, cuts) if members else []
        self.lags: list[Vector] = np.split(field.lag[by_member], cuts) if members else []

    @property
    def highest(self) -> int:
        """The member with the largest load; the senior one of several."""
        return int(self.loads.argmax())

    @property
    def load(self) -> int:
        """The largest load, records."""
        return int(self.loads.max(initial=0))

    def do(self, exchange: Exchange) -> None:
        """Hand over."""
        high, low, gives, takes = exchange
        self._move(high, low, gives)
        self._move(low, high, takes)

    def _move(self, giver: int, taker: int, partitions: tuple[int, ...]) -> None:
        for partition in partitions:
            lag = int(self.field.lag[partition])
            at = int((self.parts[giver] == partition).argmax())
            for of in (self.parts, self.lags):  # np.delete and np.insert take ten times as long
                of[giver] = np.concatenate([of[giver][:at], of[giver][at + 1 :]])
            at = int(self.lags[taker].searchsorted(lag))
            for of, one in ((self.parts, partition), (self.lags, lag)):
                of[taker] = np.concatenate([of[taker][:at], [one], of[taker][at:]])
            self.owner[partition] = taker
            self.loads[giver] -= lag
            self.loads[taker] += lag
            self.counts[giver] -= 1
            self.counts[taker] += 1
