"""Chooses the tasks that move, given how many.  They move to members with their state if possible."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Matrix, Vector
from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory
from kafka_assignors.plan.sticky.deal import turns


def pick_tasks(history: TaskHistory, target: Vector, subtopologies: list[int], change: Matrix) -> None:
    """Give tasks to members that get more of a subtopology; they have no member, or one that gets less.

    First tasks with state at the new member, then tasks that need a new copy anyway, then others.  Changes
    ``target``.  ``change`` has the tasks that each member gets (above 0) or gives (below 0), a row for each
    of ``subtopologies``; its values are lost.
    """
    free: list[int] = []
    cells: list[int] = []
    members = change.shape[1]
    for row, subtopology in enumerate(subtopologies):
        need = {m: int(change[row, m]) for m in np.flatnonzero(change[row] > 0).tolist()}
        if not need:
            continue
        first, end = history.firsts[subtopology], history.firsts[subtopology + 1]
        give = {m: -int(change[row, m]) for m in np.flatnonzero(change[row] < 0).tolist()}
        may_go = [t for t in range(first, end) if target[t] == NO_MEMBER or int(target[t]) in give]
        _follow_state(history, target, may_go, give, need)
        free += sorted(_leaving(history, target, may_go, give))
        cells += [row * members + m for m in sorted(need) if need[m]]
        change[row] = 0
        for m, units in need.items():
            change[row, m] = units
    if free:
        missing = np.array(cells, np.int64)
        target[free] = turns(missing, change.reshape(-1)[missing], members)


def _follow_state(
    history: TaskHistory, target: Vector, may_go: list[int], give: dict[int, int], need: dict[int, int]
) -> None:
    """Move tasks to members with their state.

    Order: tasks with an owner; ready copies (``TaskHistory.ready``); copies that may be warm-ups for this
    move; tasks with the fewest choices; the likeliest warm-ups; the most caught-up copies; members that keep
    the copy up to date; members with the fewest tasks.

    Updates ``target``, ``may_go`` (the tasks of one subtopology that may move), ``give`` and ``need`` (member
    -> number of tasks that it must give, or get).
    """
    processes: dict[int, list[int]] = {}
    for member in need:
        processes.setdefault(history.process[member], []).append(member)
    choices = {t: sum(len(processes.get(p, ())) for p in history.ready[t]) for t in may_go}
    moves = [
        (
            history.owner[task] == NO_MEMBER,
            process not in history.ready[task],
            not (likelihood := history.warm_up_likelihood(task, int(target[task]), member)),
            choices[task],
            -likelihood,
            rank,
            member not in history.standbys[task],
            history.held[member],
            task,
            member,
        )
        for task in may_go
        for process, rank in history.ranks[task].items()
        for member in processes.get(process, ())
    ]
    gone = set()
    for *_, task, member in sorted(moves):
        owner = int(target[task])
        if task not in gone and need[member] and (owner == NO_MEMBER or give[owner]):
            gone.add(task)
            need[member] -= 1
            if owner != NO_MEMBER:
                give[owner] -= 1
            target[task] = member
    may_go[:] = [task for task in may_go if task not in gone]


def _leaving(history: TaskHistory, target: Vector, may_go: list[int], give: dict[int, int]) -> list[int]:
    """Return the tasks without a member, and the others that must move.

    Tasks with fewer copies than wanted move first, because they need a new copy anyway.
    """

    def order(task: int) -> tuple[bool, bool, int]:
        has_copies = len(history.ready[task]) >= history.copies_of[task]
        return bool(has_copies), history.owner[task] == NO_MEMBER, task

    leaving = []
    for task in sorted(may_go, key=order):
        owner = int(target[task])
        if owner == NO_MEMBER:
            leaving.append(task)
        elif give[owner]:
            give[owner] -= 1
            leaving.append(task)
    return leaving
