"""What the members have, out of what they say: who runs what, who has copies, and how far they are.

What members say is untrusted, as in ``plan.claims``: of the claims to run a task the one of the highest
generation counts, two of one generation cancel out; tasks that do not exist and negative lags are no history.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.model import StatefulGroup, StatefulOptions, Task

__all__ = ["FAR", "History"]

FAR = 2**63
"""The rank of a member without state where the length of the changelog is not known: beyond any lag."""


class History:
    """What there is, by the numbers of tasks, members and processes.

    Tasks are numbered subtopology by subtopology, members in the order of the group, processes in the order
    of their first member.  Cost: linear in all that the members say.

    Attributes:
        tasks: by number.
        firsts: where each subtopology begins, and at last where the last one ends.
        sub: the subtopology of each task.
        stateful: subtopologies that keep state.
        copies: by subtopology, how many copies of its state there shall be, the active one included.
        copies_of: the same by task.
        process: of each member.
        crews: members of each process.
        racks: of each member, None where not known.
        owner: who runs a task, or ``NOBODY``.
        standbys: who says that it keeps a copy of a task up to date, one a process and none in that of the
            owner.
        held: by member, of how many tasks it is the owner or a standby.
        ranks: by task: process -> how far its copy is from caught up, 0 for one that is (KIP-441, "Computing
            the most-caught-up instances").  A process is in there if it has state or was told to build it.
        absent: by task, the rank of all other processes.
        ready: the part of ``ranks`` that is caught up, or that somebody was told to keep up to date.  What is
            left over from before, and behind, has to be begun again like a copy that is not there.
    """

    def __init__(self, group: StatefulGroup, options: StatefulOptions) -> None:
        self.group = group
        self.options = options
        self.tasks = [Task(s.id, p) for s in group.subtopologies for p in range(s.partitions)]
        partitions = [s.partitions for s in group.subtopologies]
        self.firsts: list[int] = [0, *np.cumsum(partitions).tolist()]
        self.sub: npt.NDArray[np.int64] = np.repeat(np.arange(len(partitions)), partitions)
        self.stateful = [i for i, s in enumerate(group.subtopologies) if s.stateful]
        self._index = {task: i for i, task in enumerate(self.tasks)}
        places: dict[str, int] = {}
        self.process = [places.setdefault(m.process or m.member_id, len(places)) for m in group.members]
        self.crews: list[list[int]] = [[] for _ in places]
        for member, process in enumerate(self.process):
            self.crews[process].append(member)
        self.racks = [m.rack for m in group.members]
        standbys = min(options.num_standby_replicas, max(len(places) - 1, 0))
        self.copies = [1 + standbys if s.stateful and s.logged else 1 for s in group.subtopologies]
        self.copies_of: npt.NDArray[np.int64] = np.repeat(np.array(self.copies, np.int64), partitions)
        self._logged = [s.stateful and s.logged for s in group.subtopologies]
        self._fits: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}
        self._read_owners()
        self._read_ranks()
        self.held = [0] * len(self.process)
        for roles in ([m] if m != NOBODY else [] for m in self.owner), self.standbys:
            for members in roles:
                for member in members:
                    self.held[member] += 1

    def _read_owners(self) -> None:
        self.owner = [NOBODY] * len(self.tasks)
        newest: dict[int, int] = {}
        for number, member in enumerate(self.group.members):
            for task in set(member.active):
                t = self._index.get(task)
                if t is None or member.generation < newest.get(t, member.generation):
                    continue
                # The same generation twice: nobody's, until a higher one claims it.
                self.owner[t] = NOBODY if newest.get(t) == member.generation else number
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
                # A copy that lacks more than all there is lacks all there is.
                rank = 0 if lag <= acceptable else min(lag, self.absent[t])
                self.ranks[t][process] = min(rank, self.ranks[t].get(process, rank))
            for task in member.standby:
                t = self._index.get(task)
                if t is None or not logged[sub[t]]:
                    continue
                self.ranks[t].setdefault(process, self.absent[t])
                there = [self.process[other] for other in self.standbys[t]]
                if self.owner[t] != NOBODY:
                    there.append(self.process[self.owner[t]])
                if process not in there:
                    self.standbys[t].append(number)
        for t, owner in enumerate(self.owner):
            if owner == NOBODY or not logged[sub[t]]:
                continue
            # Who runs a task has all there is (Kafka Streams' "latest"), unless it says that it restores.
            if self.group.members[owner].lags.get(self.tasks[t], -1) < 0:
                self.ranks[t][self.process[owner]] = 0
        self.ready: list[dict[int, int]] = [
            {p: rank for p, rank in ranks.items() if rank == 0 or self._is_told(t, p)}
            for t, ranks in enumerate(self.ranks)
        ]

    def _is_told(self, task: int, process: int) -> bool:
        owner = self.owner[task]
        return (owner != NOBODY and self.process[owner] == process) or self.is_standby(task, process)

    def begun(self, task: int, owner: int, member: int) -> int:
        """How surely a copy was begun so that the task can move there.

        Returns:
            0: it may as well be a standby, as there are no more than there shall be.
            1: there are more, but it may take the place of a standby whose member has too much.
            2: there are more.
            3: there is one more, and beside the owner this one is no good as a standby, for its rack.
        """
        more = len(self.ready[task]) - self.copies[self.sub[task]]
        if more != 1 or owner == NOBODY:
            return 2 if more > 0 else 0
        if not self.fits([owner])[member]:
            return 3
        return 2 if all(self.held[m] <= self._fair for m in self.standbys[task]) else 1

    def is_standby(self, task: int, process: int) -> bool:
        """Whether somebody in that process says that it keeps a copy up to date."""
        return any(self.process[member] == process for member in self.standbys[task])

    def rank(self, task: int, process: int) -> int:
        """How far a process is from running a task without a wait; 0: caught up."""
        return self.ranks[task].get(process, self.absent[task])

    def best_rank(self, task: int) -> int:
        """The rank of those that are most caught up."""
        return min((self.absent[task], *self.ranks[task].values()))

    def fits(self, others: Collection[int]) -> npt.NDArray[np.bool_]:
        """By member: whether it may have a copy beside the ones that other members have.

        Never in one process with another copy; in a rack with another copy only if no other member is left.
        """
        key = tuple(sorted(others))
        found = self._fits.get(key)
        if found is None:
            found = self._fits[key] = self._fitting(key)
        return found

    def _fitting(self, others: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        fits: npt.NDArray[np.bool_] = np.ones(len(self.process), np.bool_)
        for other in others:
            fits[self.crews[self.process[other]]] = False
        if self._by_rack:
            used = {rack for other in others if (rack := self.racks[other]) is not None}
            elsewhere: npt.NDArray[np.bool_] = fits.copy()
            for rack in used:
                elsewhere[self._by_rack[rack]] = False
            if bool(elsewhere.any()):
                return elsewhere
        return fits

    @cached_property
    def _fair(self) -> int:
        return -(-int(self.copies_of.sum()) // len(self.process))

    @cached_property
    def _by_rack(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for member, rack in enumerate(self.racks):
            if rack is not None:
                found.setdefault(rack, []).append(member)
        return found
