"""A plan that the search changes by exchanges.  Each member's partitions are in the order of lag."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import Group
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector

Indices = npt.NDArray[np.int64]


class Exchange(NamedTuple):
    """The partitions that ``high`` gives to ``low``, and those that it takes in return."""

    high: int
    low: int
    gives: tuple[int, ...]
    takes: tuple[int, ...]


class LoadProblem:
    """The part of a load problem that exchanges do not change.

    Attributes:
        lag: by partition, records.
        topic_of: by partition.
        subscribed: shape (topics, members).
        dealt: the partitions that have a subscriber.
        plays: by member, whether it subscribes to a topic that has partitions.
        players: the indices of these members.
        equal: whether all players subscribe to the same topics.
        capacities: of the members.  They make loads of records.
    """

    def __init__(self, group: Group) -> None:
        self.lag: Vector = group.lag
        self.capacities = group.capacities
        self.topic_of = group.topic_of
        self.subscribed = group.subscribed
        has_partitions = group.counts > 0
        self.plays: Mask = np.any(self.subscribed[has_partitions], axis=0)
        self.players = np.flatnonzero(self.plays)
        read: Mask = np.any(self.subscribed, axis=1)
        self.dealt = np.flatnonzero(read[group.topic_of])
        self.equal = bool(self.subscribed[np.ix_(has_partitions & read, self.plays)].all())

    def shares(self, owners: Owners) -> Matrix:
        """Number of partitions of each topic of each member, shape (topics, members)."""
        topics, members = self.subscribed.shape
        given = np.flatnonzero(owners >= 0)
        cells = self.topic_of[given].astype(np.int64) * members + owners[given]
        return np.bincount(cells, minlength=topics * members).reshape(topics, members)

    def counts(self, owners: Owners) -> Vector:
        """Number of partitions by member."""
        return np.bincount(owners[self.dealt], minlength=self.subscribed.shape[1])

    def records(self, owners: Owners) -> Vector:
        """Records by member.  Sums of integers are exact, sums of floats would not be."""
        records = np.zeros(self.subscribed.shape[1], np.int64)
        np.add.at(records, owners[self.dealt], self.lag[self.dealt])
        return records

    def loads(self, owners: Owners) -> Vector:
        """Loads by member: its records, weighted by capacity."""
        return self.capacities.loads(self.records(owners))


class WorkingPlan:
    """A plan under change.

    Attributes:
        owner: by partition.
        records: by member.
        loads: by member: its records, weighted by capacity.
        counts: by member, partitions.
        parts: each member's partitions, lightest first.
        lags: their lags.
    """

    def __init__(self, problem: LoadProblem, owners: Owners) -> None:
        self.problem = problem
        self.owner = owners.copy()
        self.records = problem.records(owners)
        self.loads = problem.capacities.loads(self.records).copy()
        members = len(self.loads)
        by_lag = problem.dealt[np.argsort(problem.lag[problem.dealt], kind="stable")]
        owner = owners[by_lag]
        by_member = by_lag[np.argsort(owner, kind="stable")]
        self.counts: Vector = np.bincount(owner, minlength=members)
        cuts = np.cumsum(self.counts)[:-1]
        self.parts: list[Indices] = np.split(by_member, cuts) if members else []
        self.lags: list[Vector] = np.split(problem.lag[by_member], cuts) if members else []

    @property
    def highest(self) -> int:
        """The most senior member with the largest load."""
        return int(self.loads.argmax())

    @property
    def load(self) -> int:
        """The largest load."""
        return int(self.loads.max(initial=0))

    def do(self, exchange: Exchange) -> None:
        """Make an exchange."""
        high, low, gives, takes = exchange
        self._move(high, low, gives)
        self._move(low, high, takes)
        for member in (high, low):
            self.loads[member] = self.problem.capacities.load(member, int(self.records[member]))

    def _move(self, giver: int, taker: int, partitions: tuple[int, ...]) -> None:
        for partition in partitions:
            lag = int(self.problem.lag[partition])
            i = int((self.parts[giver] == partition).argmax())
            for arrays in (self.parts, self.lags):  # np.delete and np.insert take ten times as long
                arrays[giver] = np.concatenate([arrays[giver][:i], arrays[giver][i + 1 :]])
            i = int(self.lags[taker].searchsorted(lag))
            for arrays, value in ((self.parts, partition), (self.lags, lag)):
                arrays[taker] = np.concatenate([arrays[taker][:i], [value], arrays[taker][i:]])
            self.owner[partition] = taker
            self.records[giver] -= lag
            self.records[taker] += lag
            self.counts[giver] -= 1
            self.counts[taker] += 1
