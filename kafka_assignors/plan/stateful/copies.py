"""The target of standbys, close to existing copies.

KIP-441 asks for ``num.standby.replicas`` copies of each task, and leaves their balance open.  Here a member's
active tasks and standbys together are as even as processes and racks allow.  That takes the fewest new copies
of any such placement, or nearly (docs/explanation/stateful.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory

Vector = npt.NDArray[np.int64]

_MOST = 2**20
"""More tasks than a member can have; three such numbers fit into one sort key."""
_NOT = 2**62


class Standbys:
    """Standbys while they are placed and balanced.

    Attributes:
        of: by task, its standbys.
        spare: by task, members that have a copy and are not a standby of it.
        loads: by member, its active tasks and standbys.
    """

    def __init__(self, history: TaskHistory, standing: Vector, actives: Vector) -> None:
        self._history = history
        self._active_of = actives
        self._actives: list[int] = actives.tolist()
        members = len(history.process)
        stateful = np.isin(history.sub, history.stateful)
        self.loads = np.bincount(actives[stateful], minlength=members)
        self._cells = np.zeros((len(history.firsts) - 1, members), np.int64)
        np.add.at(self._cells, (history.sub[stateful], actives[stateful]), 1)
        self._pairs = np.zeros((members, members), np.int64)
        self.of: list[list[int]] = [[] for _ in history.tasks]
        self.spare: list[list[int]] = [[] for _ in history.tasks]
        self._tasks = [
            t for s in history.stateful if history.copies[s] > 1
            for t in range(history.firsts[s], history.firsts[s + 1])
        ]  # fmt: skip
        for task in self._tasks:
            self._keep(task, int(standing[task]))

    # --- existing copies

    def _keep(self, task: int, standing: int) -> None:
        """Start from existing copies: caught-up ones first, then standbys, then the last owner's."""
        history, active = self._history, self._actives[task]
        wanted = history.copies[history.sub[task]] - 1
        ranks, process = history.ranks[task], history.process
        reported = history.standbys[task]
        if len(reported) == wanted == len(history.ready[task]) - 1 and standing == active:
            candidates = reported  # unchanged
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
            # Start over each time: a member in a used rack fits once no rack without a copy is left.
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
        """Whether a standby there needs a new copy."""
        return self._history.process[member] not in self._history.ready[task]

    def others(self, task: int, member: int) -> list[int]:
        """The other members with a copy of a task."""
        return [self._actives[task], *(m for m in self.of[task] if m != member)]

    def best_of(self, tasks: Vector, member: int) -> int:
        """Pick a task for a member: a spare copy there, then spread subtopologies, then even pairs."""
        process, ranks = self._history.process[member], self._history.ranks
        fresh = np.array([process not in ranks[task] for task in tasks.tolist()])
        cells = self._cells[self._history.sub[tasks], member]
        pairs = self._pairs[self._active_of[tasks], member]
        return int(tasks[((fresh * _MOST + cells) * _MOST + pairs).argmin()])

    def place(self, high: Vector) -> None:
        """Add missing standbys: spread each subtopology, then even out pairs, then take turns.

        A pair is an active member and a standby of its task.  Even pairs spread the tasks of a member that
        leaves over many members.
        """
        history, loads = self._history, self.loads
        around = np.arange(len(loads))
        turn = [0] * len(loads)
        for task in self._tasks:
            chosen, active, sub = self.of[task], self._actives[task], history.sub[task]
            for _ in range(len(chosen), history.copies[sub] - 1):
                fits = history.fits([active, *chosen])
                if not fits.any():
                    break
                if held := [m for m in self.spare[task] if fits[m]]:
                    # Its rack has another copy, and now all racks do.
                    self.spare[task].remove(held[0])
                    chosen.append(held[0])
                    self._count(task, held[0], 1)
                    continue
                turn[active] += 1
                key = ((loads >= high) * _MOST + self._cells[sub]) * _MOST + self._pairs[active]
                key = key * _MOST + (around - active - turn[active]) % len(loads)
                member = int(np.where(fits, key, _NOT).argmin())
                chosen.append(member)
                self._count(task, member, 1)
