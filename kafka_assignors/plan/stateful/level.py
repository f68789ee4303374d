"""Moves standbys from members with many tasks to members with few, preferably where a copy exists."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.stateful.copies import Standbys
from kafka_assignors.plan.stateful.history import TaskHistory


def copy_limits(history: TaskHistory, copies: int) -> tuple[Vector, Vector]:
    """Return ``low`` and ``high``: by member, its fewest and most copies in a balanced placement.

    A copy is a stateful active task or a standby.  ``copies`` is the number of all copies.

    A process holds at most one copy of a task, so a process with many members may be full before its members
    have as many copies as others.  The other members then share the rest: ``high`` is their equal share,
    rounded up, and ``low`` is less by the balance factor.  A new member first gets what others have above
    ``high``.  If it still has fewer than ``low``, it gets copies of members above ``low``, until it has
    ``low``.  So it may stay below its equal share.
    """
    factor, size = history.options.balance_factor, len(history.process)
    low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
    most = int(sum(np.diff(history.firsts)[history.stateful]))
    open_processes = list(history.members_of)
    while open_processes:
        count = sum(map(len, open_processes))
        full = [members for members in open_processes if len(members) * copies > most * count]
        if not full:
            members_left = np.concatenate(open_processes)
            share = -(-copies // count)
            high[members_left], low[members_left] = share, max(share - factor, 0)
            break
        for members in full:
            low[members], high[members] = most // len(members), -(-most // len(members))
            copies -= most
        open_processes = [members for members in open_processes if members not in full]
    return low, high


def level(history: TaskHistory, standbys: Standbys, low: Vector, high: Vector) -> None:
    """Bring loads between ``low`` and ``high`` (both by member), as far as processes and racks allow."""
    loads = standbys.loads
    moves = _Moves(history, standbys)
    # First drain the members above ``high``, then fill those below ``low``.
    for limit in (high, low):
        while moves.along_chain(loads > limit, loads < limit, with_new_copies=False):
            pass
        while moves.directly(loads - limit):
            pass
        while moves.along_chain(loads > limit, loads < limit, with_new_copies=True):
            pass


class _Moves:
    """Moves of one standby, or of a chain of standbys."""

    def __init__(self, history: TaskHistory, standbys: Standbys) -> None:
        self._history = history
        self._standbys = standbys
        self._offers: dict[int, tuple[Vector, Mask]] = {}
        self._movable_by_member: dict[int, set[int]] | None = None

    def directly(self, surplus: Vector) -> bool:
        """Move one standby from a member above the limit to a member below it that may hold it.

        Members give in the order of their surplus, the largest first.  The taker is the member with the
        smallest surplus that may hold one of the giver's standbys.  ``surplus`` is by member, negative below
        the limit.

        Returns:
            Whether there was such a move.
        """
        if not (surplus < 0).any():
            return False
        givers = np.flatnonzero(surplus > 0)
        for giver in givers[np.argsort(-surplus[givers], kind="stable")].tolist():
            tasks, fits = self._offers_of(giver)
            takers = np.flatnonzero((surplus < 0) & fits.any(axis=0))
            if len(takers):
                taker = int(takers[np.argmin(surplus[takers])])
                task = self._standbys.best_of(tasks[fits[:, taker]], taker)
                self._move(task, giver, taker)
                return True
        return False

    def _offers_of(self, member: int) -> tuple[Vector, Mask]:
        """Return the standbys of a member, and which members may hold each, shape (standbys, members)."""
        if member not in self._offers:
            standbys = self._standbys
            tasks = [t for t, of in enumerate(standbys.of) if member in of]
            fits = np.zeros((len(tasks), len(self._history.process)), np.bool_)
            for row, task in zip(fits, tasks, strict=True):
                row[:] = self._history.fits(standbys.others(task, member))
            self._offers[member] = np.array(tasks, np.int64), fits
        return self._offers[member]

    def along_chain(self, sources: Mask, sinks: Mask, *, with_new_copies: bool) -> bool:
        """Move standbys along the shortest chain from a source to a sink; return whether there is one.

        Each member of the chain passes one standby on to the next.  Without ``with_new_copies`` no move adds
        a new copy.
        """
        if not sources.any() or not sinks.any():
            return False
        unreached = ~sources
        came_from: dict[int, tuple[int, int]] = {}  # member -> the member before it, and the task passed on
        layer = np.flatnonzero(sources).tolist()
        movable = self._movable(with_new_copies=with_new_copies)
        while layer:
            following = []
            for member in layer:
                for task in sorted(movable.get(member, ())):
                    for taker in self._takers(task, member, unreached, with_new_copies=with_new_copies):
                        if self._is_in_chain(came_from, member, task):
                            break
                        unreached[taker] = False
                        came_from[taker] = member, task
                        if sinks[taker]:
                            self._apply(came_from, taker)
                            return True
                        following.append(taker)
            layer = following
        return False

    def _is_movable(self, task: int, member: int) -> bool:
        """Whether a standby can move without one more new copy."""
        return (
            bool(self._standbys.spare[task])
            or len(self._history.members_of[self._history.process[member]]) > 1
            or self._standbys.is_new(task, member)
        )

    def _movable(self, *, with_new_copies: bool) -> dict[int, set[int]]:
        """Return, by member, its standbys that can move.

        The result without new copies is kept, and ``_move`` updates it.
        """
        if not with_new_copies and self._movable_by_member is not None:
            return self._movable_by_member
        movable: dict[int, set[int]] = {}
        for task, of in enumerate(self._standbys.of):
            for member in of:
                if with_new_copies or self._is_movable(task, member):
                    movable.setdefault(member, set()).add(task)
        if not with_new_copies:
            self._movable_by_member = movable
        return movable

    def _move(self, task: int, giver: int, taker: int) -> None:
        self._standbys.move(task, giver, taker)
        # The members with another copy of the task now have other choices.
        for member in (taker, *self._standbys.of[task]):
            self._offers.pop(member, None)
        if giver in self._offers:
            tasks, fits = self._offers[giver]
            left = tasks != task
            self._offers[giver] = tasks[left], fits[left]
        if self._movable_by_member is not None:
            self._movable_by_member.get(giver, set()).discard(task)
            for member in self._standbys.of[task]:
                if self._is_movable(task, member):
                    self._movable_by_member.setdefault(member, set()).add(task)

    def _takers(self, task: int, member: int, among: Mask, *, with_new_copies: bool) -> list[int]:
        """Return the members of ``among`` to which a standby of a member can move."""
        standbys = self._standbys
        fits = self._history.fits(standbys.others(task, member)) & among
        if with_new_copies or standbys.is_new(task, member):
            return list(np.flatnonzero(fits).tolist())
        with_copy = {*standbys.spare[task], *self._history.members_of[self._history.process[member]]}
        return [taker for taker in sorted(with_copy) if fits[taker]]

    @staticmethod
    def _is_in_chain(came_from: dict[int, tuple[int, int]], member: int, task: int) -> bool:
        """Whether the chain to a member moves the task already, so that ``standbys`` is outdated for it."""
        while member in came_from:
            member, moved = came_from[member]
            if moved == task:
                return True
        return False

    def _apply(self, came_from: dict[int, tuple[int, int]], end: int) -> None:
        taker = end
        while taker in came_from:
            giver, task = came_from[taker]
            self._move(task, giver, taker)
            taker = giver
