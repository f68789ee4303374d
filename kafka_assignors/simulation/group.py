"""The group's side of a rebalance: who is in it, who owns what, and what a round changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan import (
    NO_GENERATION,
    NOBODY,
    Assignment,
    Group,
    Member,
    Ownership,
    lag_lower_bound,
    rebalance,
)
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.scenario import Strategy

__all__ = ["Crew", "Round"]


class Round(NamedTuple):
    """What one round changed.

    Attributes:
        gained: by member, how many partitions it has now and had not when the round began.
        moved: partitions that went to another member than their last owner, ascending.
        givers: their last owners, as member numbers; takers: their new ones.
        revoked: members that had something in this round that they have to give back.
        again: another round has to follow, for what was held back in this one.
    """

    gained: Counts
    moved: Counts
    givers: Counts
    takers: Counts
    revoked: frozenset[int]
    again: bool


class Crew:
    """A consumer group without time: members are numbers, in the order they first appear.

    Args:
        strategy: who plans.
        topics: topic -> partitions.
        names: of all members that ever are in it.
    """

    def __init__(self, strategy: Strategy, topics: dict[str, int], names: Sequence[str]) -> None:
        self._strategy = strategy
        self._topics = topics
        self._ids = [client_id(name) for name in names]
        self._number = {member_id: number for number, member_id in enumerate(self._ids)}
        self._generations = [NO_GENERATION] * len(names)
        self._generation = 0
        self._empty = Group((), topics)
        self._settling: Counts | None = None  # the lag that rounds still to come are planned by
        self.owner: Counts = np.full(self._empty.size, NOBODY, np.int64)
        self.last_owner = self.owner.copy()
        self.present: list[int] = []

    @property
    def leader(self) -> int:
        """The member that is there longest."""
        return self.present[0]

    def join(self, member: int) -> None:
        """It is in the group, and owns nothing before the next round."""
        self.present.append(member)

    def begin_with(self, owners: Counts) -> None:
        """The members that are there own this, and have settled."""
        self.owner, self.last_owner = owners, owners.copy()
        self._generation += 1
        for member in self.present:
            self._generations[member] = self._generation

    def remove(self, member: int) -> None:
        """It left, or was taken for dead; what it owned has no owner."""
        self.present.remove(member)
        self.owner[self.owner == member] = NOBODY
        self._generations[member] = NO_GENERATION

    def round(self, load: Counts) -> Round:
        """Plan as the leader does, and hand out what may be had.

        Args:
            load: what the strategy is told, by partition, records; not looked at by one that plans by counts.
        """
        strategy = self._strategy
        if self._settling is None:
            self._settling = load  # while partitions wait to be handed over the plan is to be the same again
        group = self._group(self._settling, holding=strategy.cooperative)
        result = rebalance(group, strategy.plan)
        held = bool(result.holds)
        before, self.owner = self.owner, self._owners(group, result.given)
        has = self.owner != NOBODY
        gained = np.bincount(self.owner[has & (self.owner != before)], minlength=len(self._ids))
        taken = before[(before != NOBODY) & (self.owner != before)]
        moved = np.flatnonzero(has & (self.last_owner != NOBODY) & (self.owner != self.last_owner))
        found = Round(
            gained=gained,
            moved=moved,
            givers=self.last_owner[moved],
            takers=self.owner[moved],
            revoked=frozenset(taken.tolist()),
            again=held,
        )
        self.last_owner = np.where(has, self.owner, self.last_owner)
        self._generation += 1
        for member in self.present:
            self._generations[member] = self._generation
        if not held:
            self._settling = None
        return found

    def imbalance(self, load: Counts, counts: Callable[[int, int], bool]) -> tuple[int, int]:
        """The largest load of a member, and the least that it could be, records.

        Args:
            load: by partition.
            counts: whether such loads are uneven.  Where even a simple bound of the least is too much for
                that, that bound is returned: what it could really be is no less, and the answer the same.
        """
        if not (self._strategy.by_lag or self._strategy.by_load):
            return 0, 0
        owned = self.owner != NOBODY
        loads = np.zeros(len(self._ids), np.int64)
        np.add.at(loads, self.owner[owned], load[owned])  # bincount would add floats
        largest = int(loads.max(initial=0))
        least = max(-(-int(load.sum()) // len(self.present)), int(load.max(initial=0)))
        if counts(largest, least):
            least = lag_lower_bound(self._group(load, holding=False))
        return largest, least

    def could_be(self, load: Counts) -> int:
        """The largest load of a member after a rebalance now, records."""
        group = self._group(load, holding=False)
        return rebalance(group, self._strategy.plan).metrics.max_load or 0

    def _group(self, load: Counts, *, holding: bool) -> Group:
        topics = frozenset(self._topics)
        members = tuple(
            Member(
                self._ids[number],
                topics,
                owned=self._owned(number),
                generation=self._generations[number],
                holds=holding,
            )
            for number in self.present
        )
        lags: dict[str, list[int]] = {}
        if self._strategy.by_lag or self._strategy.by_load:
            starts = self._empty.firsts.tolist()
            lags = {
                topic: load[first:end].tolist()
                for topic, first, end in zip(self._topics, starts, starts[1:], strict=False)
            }
        return Group(members, self._topics, lags=lags)

    def _owned(self, member: int) -> Ownership:
        mine = np.flatnonzero(self.owner == member)
        owned: dict[str, list[int]] = {}
        for partition in mine.tolist():
            topic, number = self._empty.at(partition)
            owned.setdefault(topic, []).append(number)
        return owned

    def _owners(self, group: Group, plan: Assignment) -> Counts:
        """A plan's owners as numbers of ours."""
        numbers = np.array([self._number[m.member_id] for m in group.members] + [NOBODY], np.int64)
        return numbers[plan.owners]
