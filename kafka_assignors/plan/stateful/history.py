"""The owners, copies and lags that members report.

Reports are untrusted, as in ``plan.claims``.  If several members claim an active task, the claim of the
highest generation wins; two of one generation cancel out.  Unknown tasks and negative lags are ignored.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector, count_pairs
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.model import StatefulGroup, Task, TaskPlanOptions

FAR = 2**63
"""Rank of a process without state if the changelog's length is unknown: beyond any lag."""


class TaskHistory:
    """The reports, indexed by the numbers of tasks, members and processes.

    Tasks are numbered subtopology by subtopology, members in the order of the group, processes in the order
    of their first member.  Cost: linear in the members' reports if each task has few standbys.

    Attributes:
        tasks: all tasks.
        firsts: by subtopology, its first task; then the number of all tasks.
        sub: by task, its subtopology.
        stateful: subtopologies that keep state.
        copies: by subtopology, the wanted copies of each task's state, the active one included.
        copies_of: the same by task.
        process: by member, its process.
        members_of: by process, its members.
        racks: by member, its rack; None if unknown.
        owner: by task, the member that runs it, or ``NO_MEMBER``.
        standbys: by task, members that report a standby or a warm-up of it; at most one of each process, and
            none of the owner's process.
        held: by member, the number of tasks it owns or is a standby of.
        ranks: by task: process -> rank, which is the lag of its copy (changelog records), or 0 if the copy is
            caught up (KIP-441, "Computing the most-caught-up instances").  Only processes that own the task,
            have state of it, or are a standby of it.
        absent: by task, the rank of all other processes.
        ready: as ``ranks``, but only processes that are caught up, own the task, or are a standby of it.
            Any other copy is old and behind; it counts as one that must still be built.
    """

    def __init__(self, group: StatefulGroup, options: TaskPlanOptions) -> None:
        self.group = group
        self.options = options
        self.tasks = [Task(s.id, p) for s in group.subtopologies for p in range(s.partitions)]
        partitions = [s.partitions for s in group.subtopologies]
        self.firsts: list[int] = [0, *np.cumsum(partitions).tolist()]
        self.sub: Vector = np.repeat(np.arange(len(partitions)), partitions)
        self.stateful = [i for i, s in enumerate(group.subtopologies) if s.stateful]
        self._index = {task: i for i, task in enumerate(self.tasks)}
        places: dict[tuple[bool, str], int] = {}
        keys = [(bool(m.process), m.process or m.member_id) for m in group.members]
        self.process = [places.setdefault(key, len(places)) for key in keys]
        self.members_of: list[list[int]] = [[] for _ in places]
        for member, process in enumerate(self.process):
            self.members_of[process].append(member)
        self.racks = [m.rack for m in group.members]
        standbys = min(options.num_standby_replicas, max(len(places) - 1, 0))
        self.copies = [1 + standbys if s.stateful and s.logged else 1 for s in group.subtopologies]
        self.copies_of: Vector = np.repeat(np.array(self.copies, np.int64), partitions)
        self._logged = [s.stateful and s.logged for s in group.subtopologies]
        self._fits: dict[tuple[int, ...], Mask] = {}
        self._read_owners()
        self._read_ranks()
        self.held = [0] * len(self.process)
        for owner, standbys_of_task in zip(self.owner, self.standbys, strict=True):
            for member in [owner, *standbys_of_task] if owner != NO_MEMBER else standbys_of_task:
                self.held[member] += 1

    def _read_owners(self) -> None:
        self.owner = [NO_MEMBER] * len(self.tasks)
        newest: dict[int, int] = {}
        for number, member in enumerate(self.group.members):
            for task in set(member.active):
                t = self._index.get(task)
                if t is None or member.generation < newest.get(t, member.generation):
                    continue
                # Two claims of one generation cancel out, until a higher one comes.
                self.owner[t] = NO_MEMBER if newest.get(t) == member.generation else number
                newest[t] = member.generation

    def _read_ranks(self) -> None:
        acceptable = self.options.acceptable_recovery_lag
        ends = self.group.end_offsets
        logged = self._logged
        sub = self.sub.tolist()
        self.absent = [FAR if logged[s] else 0 for s in sub]
        for task, end in ends.items():
            t = self._index.get(task)
            if t is not None and logged[sub[t]] and end >= 0:
                self.absent[t] = 0 if end <= acceptable else end
        self.ranks: list[dict[int, int]] = [{} for _ in self.tasks]
        self.standbys: list[list[int]] = [[] for _ in self.tasks]
        for number, member in enumerate(self.group.members):
            process = self.process[number]
            for task, lag in member.lags.items():
                t = self._index.get(task)
                if t is None or lag < 0 or not logged[sub[t]]:
                    continue
                # A copy cannot lack more than the whole changelog has.
                rank = 0 if lag <= acceptable else min(lag, self.absent[t])
                self.ranks[t][process] = min(rank, self.ranks[t].get(process, rank))
            for task in member.standby:
                t = self._index.get(task)
                if t is None or not logged[sub[t]]:
                    continue
                self.ranks[t].setdefault(process, self.absent[t])
                taken = [self.process[other] for other in self.standbys[t]]
                if self.owner[t] != NO_MEMBER:
                    taken.append(self.process[self.owner[t]])
                if process not in taken:
                    self.standbys[t].append(number)
        for t, owner in enumerate(self.owner):
            if owner == NO_MEMBER or not logged[sub[t]]:
                continue
            # An owner is caught up (Kafka Streams' "latest"), unless it reports a lag because it restores.
            if self.group.members[owner].lags.get(self.tasks[t], -1) < 0:
                self.ranks[t][self.process[owner]] = 0
        self.ready: list[dict[int, int]] = [
            {p: rank for p, rank in ranks.items() if rank == 0 or self._has_role(t, p)}
            for t, ranks in enumerate(self.ranks)
        ]

    def _has_role(self, task: int, process: int) -> bool:
        owner = self.owner[task]
        return (owner != NO_MEMBER and self.process[owner] == process) or self.is_standby(task, process)

    def warm_up_likelihood(self, task: int, owner: int, member: int) -> int:
        """Return how likely a member's copy of a task is a warm-up, built so that the task can move there.

        Returns:
            0: it may be a standby, because the task has no more copies than wanted.
            1: the task has one copy more than wanted, but a member with a standby of it has more than an even
                load.  So this copy may be the new standby that replaces that one.
            2: the task has more copies than wanted, and either no owner, or neither 1 nor 3 holds.
            3: the task has one copy more than wanted, and this copy cannot be a standby beside the owner
                (``fits``).
        """
        surplus = len(self.ready[task]) - self.copies[self.sub[task]]
        if surplus != 1 or owner == NO_MEMBER:
            return 2 if surplus > 0 else 0
        if not self.fits([owner])[member]:
            return 3
        return 2 if all(self.held[m] <= self._even_load for m in self.standbys[task]) else 1

    def is_standby(self, task: int, process: int) -> bool:
        """Whether ``standbys`` has a member of the process for the task."""
        return any(self.process[member] == process for member in self.standbys[task])

    def rank(self, task: int, process: int) -> int:
        """Return the rank of any process; 0: it could run the task at once."""
        return self.ranks[task].get(process, self.absent[task])

    def best_rank(self, task: int) -> int:
        """The rank of the most caught-up process."""
        return min((self.absent[task], *self.ranks[task].values()))

    def counts(self, owners: Vector) -> Matrix:
        """Return how many tasks of each subtopology each member has, shape (subtopologies, members).

        Args:
            owners: by task, its owner; ``NO_MEMBER``: the task does not count.
        """
        is_owned = owners != NO_MEMBER
        shape = len(self.firsts) - 1, len(self.process)
        return count_pairs(self.sub[is_owned], owners[is_owned], shape)

    def fits(self, others: Collection[int]) -> Mask:
        """By member: whether it may have a copy of a task if these other members have one.

        A member may not if one of the others is in its process.  A member in the rack of one of the others
        may only if no member in another rack is left.  An unknown rack counts as another one.
        """
        key = tuple(sorted(others))
        fits = self._fits.get(key)
        if fits is None:
            fits = self._fits[key] = self._fitting(key)
        return fits

    def _fitting(self, others: tuple[int, ...]) -> Mask:
        fits: Mask = np.ones(len(self.process), np.bool_)
        for other in others:
            fits[self.members_of[self.process[other]]] = False
        if self._by_rack:
            used = {rack for other in others if (rack := self.racks[other]) is not None}
            elsewhere: Mask = fits.copy()
            for rack in used:
                elsewhere[self._by_rack[rack]] = False
            if bool(elsewhere.any()):
                return elsewhere
        return fits

    @cached_property
    def _even_load(self) -> int:
        """Copies of each member if all are spread evenly, rounded up."""
        return -(-int(self.copies_of.sum()) // len(self.process))

    @cached_property
    def _by_rack(self) -> dict[str, list[int]]:
        by_rack: dict[str, list[int]] = {}
        for member, rack in enumerate(self.racks):
            if rack is not None:
                by_rack.setdefault(rack, []).append(member)
        return by_rack
