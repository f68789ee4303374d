"""The target of standbys, close to existing copies.

KIP-441 asks for ``num.standby.replicas`` copies of each task, and leaves their balance open.  Here a member's
active tasks and standbys together are as even as processes and racks allow.  Among such placements, the
target needs the fewest new copies, or nearly (docs/explanation/stateful.md).
"""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory

_MOST = 2**20
"""More tasks than a member can have; three such numbers fit into one sort key."""

_NEVER = 2**62
"""Sort key of a member that may not have the standby."""


class Standbys:
    """The target of standbys while it is made.

    At first each task has existing copies as standbys.  ``place`` adds the missing ones; ``level.level`` then
    moves standbys.

    Attributes:
        of: by task, its standbys.
        spare: by task, members with a ready copy (``TaskHistory.ready``) that are neither its owner nor a
            standby of it.
        loads: by member, its number of active tasks and standbys.
    """

    def __init__(self, history: TaskHistory, standing: Vector, actives: Vector) -> None:
        self._history = history
        self._active_of = actives
        self._actives: list[int] = actives.tolist()
        members = len(history.process)
        self._cells = history.counts(actives)
        self.loads: Vector = self._cells.sum(axis=0)
        self._pairs = np.zeros((members, members), np.int64)
        self.of: list[list[int]] = [[] for _ in history.tasks]
        self.spare: list[list[int]] = [[] for _ in history.tasks]
        self._tasks = [
            t for s in history.stateful if history.copies[s] > 1
            for t in range(history.firsts[s], history.firsts[s + 1])
        ]  # fmt: skip
        for task in self._tasks:
            self._keep(task, int(standing[task]))

    def _keep(self, task: int, standing: int) -> None:
        """Keep copies as standbys: caught-up ones first, then present standbys, then that of `standing`."""
        history, active = self._history, self._actives[task]
        wanted = history.copies[history.sub[task]] - 1
        ranks, process = history.ranks[task], history.process
        reported = history.standbys[task]
        is_settled = standing == active == history.owner[task]
        if is_settled and len(reported) == wanted == len(history.ready[task]) - 1:
            candidates = reported  # no other copy is ready
        else:
            kept = {process[m] for m in reported}
            last = NO_MEMBER if standing == NO_MEMBER else process[standing]
            order = sorted(
                (rank > 0, p not in kept, p != last, rank, p)
                for p, rank in ranks.items() if p != process[active]
            )  # fmt: skip
            roles = {process[m]: m for m in (*reported, *([standing] if standing != NO_MEMBER else []))}
            candidates = [
                roles[p] if p in roles else self._lightest(history.members_of[p]) for *_, p in order
            ]
        chosen, left = self.of[task], list(candidates)
        while len(chosen) < wanted:
            # Start over each time: when each rack has a copy, members that did not fit before do.
            fits = history.fits([active, *chosen])
            if (member := next((m for m in left if fits[m]), None)) is None:
                break
            left.remove(member)
            chosen.append(member)
            self._count(task, member, 1)
        self.spare[task] += [m for m in left if not self.is_new(task, m)]

    def _lightest(self, members: list[int]) -> int:
        return min(members, key=lambda m: (self.loads[m], m))

    def _count(self, task: int, member: int, by: int) -> None:
        self.loads[member] += by
        self._cells[self._history.sub[task], member] += by
        self._pairs[self._actives[task], member] += by

    def move(self, task: int, here: int, there: int) -> None:
        """Move a standby to another member."""
        members = self.of[task]
        members[members.index(here)] = there
        if there in self.spare[task]:
            self.spare[task].remove(there)
        if not self.is_new(task, here):
            self.spare[task].append(here)
        self._count(task, here, -1)
        self._count(task, there, 1)

    def is_new(self, task: int, member: int) -> bool:
        """Whether a standby on this member needs a new copy."""
        return self._history.process[member] not in self._history.ready[task]

    def others(self, task: int, member: int) -> list[int]:
        """The task's owner and its other standbys."""
        return [self._actives[task], *(m for m in self.of[task] if m != member)]

    def best_of(self, tasks: Vector, member: int) -> int:
        """Pick the task of which a member becomes a standby.

        A task with a copy there comes first, then one of the subtopology with the fewest tasks there, then
        the one that makes pairs even: see ``place``.
        """
        process, ranks = self._history.process[member], self._history.ranks
        has_no_copy = np.array([process not in ranks[task] for task in tasks.tolist()])
        cells = self._cells[self._history.sub[tasks], member]
        pairs = self._pairs[self._active_of[tasks], member]
        return int(tasks[((has_no_copy * _MOST + cells) * _MOST + pairs).argmin()])

    def place(self, high: Vector) -> None:
        """Add missing standbys: spread each subtopology, then even out pairs, then take turns.

        A pair is an active member and a standby of one of its tasks.  If the pairs are even and a member
        leaves, its tasks go to many members.

        Args:
            high: by member, a limit of its tasks.  Members below their limit come before the others.
        """
        history, loads = self._history, self.loads
        numbers = np.arange(len(loads))
        turn = [0] * len(loads)
        for task in self._tasks:
            chosen, active, sub = self.of[task], self._actives[task], history.sub[task]
            for _ in range(len(chosen), history.copies[sub] - 1):
                fits = history.fits([active, *chosen])
                if not fits.any():
                    break
                if spare := [m for m in self.spare[task] if fits[m]]:
                    # ``_keep`` passed it over, because its rack has another copy.  No other rack is left now.
                    self.spare[task].remove(spare[0])
                    chosen.append(spare[0])
                    self._count(task, spare[0], 1)
                    continue
                turn[active] += 1
                key = ((loads >= high) * _MOST + self._cells[sub]) * _MOST + self._pairs[active]
                key = key * _MOST + (numbers - active - turn[active]) % len(loads)
                member = int(np.where(fits, key, _NEVER).argmin())
                chosen.append(member)
                self._count(task, member, 1)
