"""Moves standbys from members with many tasks to members with few, to existing copies where possible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.stateful.copies import Standbys
from kafka_assignors.plan.stateful.history import TaskHistory

Vector = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def limits(history: TaskHistory, tasks: int) -> tuple[Vector, Vector]:
    """Return the fewest and the most tasks of each member in balance.

    A process holds at most one copy of a task, so a process with few members may be full before it has its
    share.  The other members share the rest.  A balance factor above 1 lets members have less than others,
    not more: a new member then needs fewer copies, and no other member has to move any.
    """
    factor, size = history.options.balance_factor, len(history.process)
    low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
    most = int(sum(np.diff(history.firsts)[history.stateful]))
    open_processes = list(history.members_of)
    while open_processes:
        count = sum(map(len, open_processes))
        full = [members for members in open_processes if len(members) * tasks > most * count]
        if not full:
            members_left = np.concatenate(open_processes)
            high[members_left] = -(-tasks // count)
            low[members_left] = min(tasks // count, max(-(-tasks // count) - factor, 0))
            break
        for members in full:
            low[members], high[members] = most // len(members), -(-most // len(members))
            tasks -= most
        open_processes = [members for members in open_processes if members not in full]
    return low, high


def level(history: TaskHistory, standbys: Standbys, low: Vector, high: Vector) -> None:
    """Bring loads between ``low`` and ``high``, as far as processes and racks allow."""
    loads = standbys.loads
    moves = _Moves(history, standbys)
    # First drain the members above ``high``, then fill those below ``low``.
    for crowded, empty in ((high, high), (low, low)):
        while moves.along_copies(loads > crowded, loads < empty):
            pass
        while moves.directly(loads > crowded, loads < empty, loads - crowded, empty - loads):
            pass
        while moves.around(loads > crowded, loads < empty):
            pass


class _Moves:
    """Moves of one standby, or of a chain of standbys."""

    def __init__(self, history: TaskHistory, standbys: Standbys) -> None:
        self._history = history
        self._standbys = standbys
        self._offers: dict[int, tuple[Vector, Mask]] = {}
        self._flexible: dict[int, set[int]] | None = None

    def along_copies(self, sources: Mask, sinks: Mask) -> bool:
        """Move one unit without a new copy, on the shortest chain; False: there is none."""
        return self._search(sources, sinks, anything=False)

    def around(self, sources: Mask, sinks: Mask) -> bool:
        """Move one unit on the shortest chain, with new copies if needed."""
        return self._search(sources, sinks, anything=True)

    def directly(self, sources: Mask, sinks: Mask, surplus: Vector, need: Vector) -> bool:
        """Move one standby from a member with most to a member with least that may hold it."""
        if not sources.any() or not sinks.any():
            return False
        givers = np.flatnonzero(sources)
        for giver in givers[np.argsort(-surplus[givers], kind="stable")].tolist():
            tasks, fits = self._offers_of(giver)
            takers = np.flatnonzero(sinks & fits.any(axis=0))
            if len(takers):
                taker = int(takers[np.argmax(need[takers])])
                task = self._standbys.best_of(tasks[fits[:, taker]], taker)
                self._move(task, giver, taker)
                return True
        return False

    def _offers_of(self, member: int) -> tuple[Vector, Mask]:
        """The standbys of a member, and the members that may hold each, shape (standbys, members)."""
        if member not in self._offers:
            standbys = self._standbys
            tasks = [t for t, of in enumerate(standbys.of) if member in of]
            fits = np.zeros((len(tasks), len(self._history.process)), np.bool_)
            for row, task in zip(fits, tasks, strict=True):
                row[:] = self._history.fits(standbys.others(task, member))
            self._offers[member] = np.array(tasks, np.int64), fits
        return self._offers[member]

    def _search(self, sources: Mask, sinks: Mask, *, anything: bool) -> bool:
        if not sources.any() or not sinks.any():
            return False
        open_members = ~sources
        path: dict[int, tuple[int, int]] = {}
        waiting = np.flatnonzero(sources).tolist()
        held = self._held(anything=anything)
        while waiting:
            following = []
            for member in waiting:
                for task in sorted(held.get(member, ())):
                    for there in self._ways(task, member, open_members, anything=anything):
                        if self._uses(path, member, task):
                            break
                        open_members[there] = False
                        path[there] = member, task
                        if sinks[there]:
                            self._apply(path, there)
                            return True
                        following.append(there)
            waiting = following
        return False

    def _may_go(self, task: int, member: int) -> bool:
        """Whether a standby can move without an additional new copy."""
        return (
            bool(self._standbys.spare[task])
            or len(self._history.members_of[self._history.process[member]]) > 1
            or self._standbys.is_new(task, member)
        )

    def _held(self, *, anything: bool) -> dict[int, set[int]]:
        """By member: its standbys that can move; ``_move`` updates it, except with ``anything``."""
        if not anything and self._flexible is not None:
            return self._flexible
        held: dict[int, set[int]] = {}
        for task, of in enumerate(self._standbys.of):
            for member in of:
                if anything or self._may_go(task, member):
                    held.setdefault(member, set()).add(task)
        if not anything:
            self._flexible = held
        return held

    def _move(self, task: int, giver: int, taker: int) -> None:
        self._standbys.move(task, giver, taker)
        # The members with another copy of the task now have other choices.
        for member in (taker, *self._standbys.of[task]):
            self._offers.pop(member, None)
        if giver in self._offers:
            tasks, fits = self._offers[giver]
            left = tasks != task
            self._offers[giver] = tasks[left], fits[left]
        if self._flexible is not None:
            self._flexible.get(giver, set()).discard(task)
            for member in self._standbys.of[task]:
                if self._may_go(task, member):
                    self._flexible.setdefault(member, set()).add(task)

    def _ways(self, task: int, member: int, among: Mask, *, anything: bool) -> Iterator[int]:
        standbys = self._standbys
        fits = self._history.fits(standbys.others(task, member)) & among
        if not fits.any():
            return
        if anything or standbys.is_new(task, member):
            yield from np.flatnonzero(fits).tolist()
        else:
            neighbours = self._history.members_of[self._history.process[member]]
            yield from [there for there in sorted({*standbys.spare[task], *neighbours}) if fits[there]]

    @staticmethod
    def _uses(path: dict[int, tuple[int, int]], member: int, task: int) -> bool:
        """Whether a chain moves the task already, so its other copies would not be where they are now."""
        while member in path:
            member, other = path[member]
            if other == task:
                return True
        return False

    def _apply(self, path: dict[int, tuple[int, int]], there: int) -> None:
        while there in path:
            here, task = path[there]
            self._move(task, here, there)
            there = here
