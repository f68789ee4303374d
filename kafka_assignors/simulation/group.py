"""The members of the simulated group, their partitions, and its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan import (
    NO_GENERATION,
    NO_MEMBER,
    Group,
    Member,
    Ownership,
    lag_lower_bound,
    rebalance,
)
from kafka_assignors.plan.capacity import Capacities
from kafka_assignors.simulation.churn import client_id
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.scenario import Strategy


class Round(NamedTuple):
    """The changes of one round.

    Attributes:
        gained: by member, number of partitions gained.
        moved: partitions with another owner than their last one, ascending.
        givers: last owners of the moved partitions, as member numbers.
        takers: new owners of the moved partitions, as member numbers.
        revoked: members that lost a partition in this round.
        again: whether another round has to follow, because this one held partitions back.
    """

    gained: Counts
    moved: Counts
    givers: Counts
    takers: Counts
    revoked: frozenset[int]
    again: bool


class GroupModel:
    """A consumer group without a clock.  Members are numbers, in the order of ``names``.

    Args:
        strategy: plans the rounds.
        topics: topic -> number of partitions.
        names: names of all members, those that join later included.
        capacities: by member; all 1 by default.

    Attributes:
        owner: by partition, its owner or ``NO_MEMBER``.
        last_owner: by partition, its owner, else the last one it had, else ``NO_MEMBER``.
        present: the members in the group, oldest first.
    """

    def __init__(
        self,
        strategy: Strategy,
        topics: dict[str, int],
        names: Sequence[str],
        capacities: Sequence[float] | None = None,
    ) -> None:
        self._strategy = strategy
        self._topics = topics
        self._ids = [client_id(name) for name in names]
        self._number = {member_id: number for number, member_id in enumerate(self._ids)}
        self._capacities = [1.0] * len(names) if capacities is None else list(capacities)
        self._generations = [NO_GENERATION] * len(names)
        self._generation = 0
        self._empty = Group((), topics)
        self._rebalance_load: Counts | None = None  # for all rounds of the current rebalance
        self.owner: Counts = np.full(self._empty.size, NO_MEMBER, np.int64)
        self.last_owner = self.owner.copy()
        self.present: list[int] = []

    @property
    def leader(self) -> int:
        """The oldest member."""
        return self.present[0]

    def join(self, member: int) -> None:
        """Add a member; it owns nothing before the next round."""
        self.present.append(member)

    def settle(self, owners: Counts) -> None:
        """Set the owners of the partitions, as after a completed rebalance."""
        self.owner, self.last_owner = owners, owners.copy()
        self._generation += 1
        for member in self.present:
            self._generations[member] = self._generation

    def remove(self, member: int) -> None:
        """Remove a member that left or expired; its partitions then have no owner."""
        self.present.remove(member)
        self.owner[self.owner == member] = NO_MEMBER
        self._generations[member] = NO_GENERATION
        if not self.present:
            self._rebalance_load = None  # an empty group has no second round

    def round(self, load: Counts) -> Round:
        """Plan as the leader does, and assign the partitions that this round may assign.

        Args:
            load: load by partition, records; ignored by strategies that plan by counts.
        """
        strategy = self._strategy
        if self._rebalance_load is None:
            self._rebalance_load = load  # so that all rounds of a cooperative rebalance have the same plan
        group = self._group(self._rebalance_load, still_owns=strategy.cooperative)
        result = rebalance(group, strategy.plan)
        has_holds = bool(result.holds)
        numbers = [self._number[member.member_id] for member in group.members]
        before, self.owner = self.owner, np.array([*numbers, NO_MEMBER], np.int64)[result.assigned.owners]
        is_owned = self.owner != NO_MEMBER
        gained = np.bincount(self.owner[is_owned & (self.owner != before)], minlength=len(self._ids))
        taken = before[(before != NO_MEMBER) & (self.owner != before)]
        moved = np.flatnonzero(is_owned & (self.last_owner != NO_MEMBER) & (self.owner != self.last_owner))
        changes = Round(
            gained=gained,
            moved=moved,
            givers=self.last_owner[moved],
            takers=self.owner[moved],
            revoked=frozenset(taken.tolist()),
            again=has_holds,
        )
        self.last_owner = np.where(is_owned, self.owner, self.last_owner)
        self._generation += 1
        for member in self.present:
            self._generations[member] = self._generation
        if not has_holds:
            self._rebalance_load = None
        return changes

    def imbalance(self, load: Counts, is_uneven: Callable[[int, int], bool]) -> tuple[int, int]:
        """Return the largest load of a member, and a lower bound of the largest load in any plan.

        Both are records weighted by capacity, and 0 if the strategy plans by counts.

        Args:
            load: load by partition, records.
            is_uneven: whether a largest load is too far above a lower bound.  Called with a cheap bound; if
                true, this method computes a better one.
        """
        if not (self._strategy.by_lag or self._strategy.by_load):
            return 0, 0
        is_owned = self.owner != NO_MEMBER
        records = np.zeros(len(self._ids), np.int64)
        np.add.at(records, self.owner[is_owned], load[is_owned])  # bincount would add floats
        capacities = Capacities([self._capacities[number] for number in self.present])
        largest = int(capacities.loads(records[self.present]).max(initial=0))
        share = -(-int(load.sum()) * capacities.most // int(capacities.parts.sum()))
        least = max(share, int(load.max(initial=0)))
        if is_uneven(largest, least):
            least = lag_lower_bound(self._group(load, still_owns=False))
        return largest, least

    def planned_load(self, load: Counts) -> int:
        """Return the largest load of a member after a rebalance now, records weighted by capacity."""
        group = self._group(load, still_owns=False)
        return rebalance(group, self._strategy.plan).metrics.max_load or 0

    def _group(self, load: Counts, *, still_owns: bool) -> Group:
        topics = frozenset(self._topics)
        members = tuple(
            Member(
                self._ids[number],
                topics,
                owned=self._owned(number),
                generation=self._generations[number],
                still_owns=still_owns,
                capacity=self._capacities[number],
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
        partitions = np.flatnonzero(self.owner == member)
        owned: dict[str, list[int]] = {}
        for partition in partitions.tolist():
            topic, number = self._empty.at(partition)
            owned.setdefault(topic, []).append(number)
        return owned
