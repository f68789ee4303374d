"""A load problem, a plan of it that the search changes by exchanges, and the budget of the search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.arrays import Matrix, Vector, count_pairs
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.model import Group


class Budget:
    """Remaining work of a search, as a count instead of time, so that a plan is the same on any machine."""

    def __init__(self, work: int) -> None:
        self.left = work

    def spend(self, work: int) -> bool:
        """Spend some of the budget; return whether any is left."""
        self.left -= work
        return self.left > 0


class Exchange(NamedTuple):
    """The partitions that member ``high`` gives to member ``low``, and the ones ``high`` takes in return."""

    high: int
    low: int
    gives: tuple[int, ...]
    takes: tuple[int, ...]


class LoadProblem:
    """The part of a load problem that exchanges do not change.

    ``assignable`` are the partitions whose topic has a subscriber.  ``subscribers`` are the members that
    subscribe to a topic with partitions; ``equal`` is whether each of them subscribes to every topic with an
    assignable partition.
    """

    def __init__(self, group: Group) -> None:
        self.lag: Vector = group.lag
        self.capacities = group.capacities
        self.topic_of = group.topic_of
        self.subscribed = group.subscribed
        self.kinds = group.kinds
        self.members = len(group.members)
        topics = group.assignable_topics
        self.assignable = np.flatnonzero(topics[group.topic_of])
        self.subscribers = np.flatnonzero(self.subscribed[topics].any(axis=0))
        self.equal = bool(self.subscribed[np.ix_(topics, self.subscribers)].all())

    def shares(self, owners: Owners) -> Matrix:
        """Number of partitions that each member has of each topic, shape (topics, members)."""
        topics, members = self.subscribed.shape
        assigned = np.flatnonzero(owners >= 0)
        return count_pairs(self.topic_of[assigned], owners[assigned], (topics, members))

    def counts(self, owners: Owners) -> Vector:
        """By member: its number of partitions."""
        return np.bincount(owners[self.assignable], minlength=self.members)

    def records(self, owners: Owners) -> Vector:
        """By member: the lag of its partitions, in records."""
        records = np.zeros(self.members, np.int64)  # integers, because sums of floats are not exact
        assigned = np.flatnonzero(owners >= 0)
        np.add.at(records, owners[assigned], self.lag[assigned])
        return records

    def loads(self, owners: Owners) -> Vector:
        """By member: its load, which is its records weighted by capacity."""
        return self.capacities.loads(self.records(owners))


class WorkingPlan:
    """A plan under change.  ``parts`` are each member's partitions, lightest first; ``lags`` their lags."""

    def __init__(self, problem: LoadProblem, owners: Owners) -> None:
        self.problem = problem
        self.owner = owners.copy()
        self.records = problem.records(owners)
        self.loads = problem.capacities.loads(self.records).copy()
        members = problem.members
        by_lag = problem.assignable[np.argsort(problem.lag[problem.assignable], kind="stable")]
        owner = owners[by_lag]
        by_member = by_lag[np.argsort(owner, kind="stable")]
        self.counts: Vector = np.bincount(owner, minlength=members)
        cuts = np.cumsum(self.counts)[:-1]
        self.parts: list[Vector] = np.split(by_member, cuts) if members else []
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
