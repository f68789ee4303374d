"""The roles of this round, on the way to the target: each task runs where it can run soonest.

KIP-441, "Assignment Algorithm": the most caught-up members get the active tasks, the next ones the standbys,
and members that tasks will move to get warm-ups.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.plan.model import NO_MEMBER
from kafka_assignors.plan.stateful.history import TaskHistory


class WarmUp(NamedTuple):
    """A wanted warm-up; sorts by priority.

    Attributes:
        is_new: whether the member has yet to begin the warm-up.
        rank: the rank of the member's copy, as in ``TaskHistory.ranks``.
        for_standby: whether the copy becomes a standby in the target, not the active task.
    """

    is_new: bool
    rank: int
    for_standby: bool
    task: int
    member: int


class RolesNow(NamedTuple):
    """The roles of this round.

    Attributes:
        active: by task, the member that runs it.
        standbys: by task, its standbys.
        warmups: all wanted warm-ups, sorted by priority.
        is_target: whether the active tasks and standbys are those of the target.
    """

    active: list[int]
    standbys: list[list[int]]
    warmups: list[WarmUp]
    is_target: bool


def roles_now(
    history: TaskHistory, standing: list[int], active: list[int], standbys: list[list[int]]
) -> RolesNow:
    """Give each task its roles of the target; if other members are more caught up, these get the roles."""
    process = history.process
    now = RolesNow([], [], [], is_target=True)
    is_target = True
    sub = history.sub.tolist()
    for task, (target, others) in enumerate(zip(active, standbys, strict=True)):
        ranks = history.ranks[task]
        if (
            history.owner[task] == target == standing[task]
            and len(ranks) == history.copies[sub[task]]
            and not any(ranks.values())
            and sorted(history.standbys[task]) == sorted(others)
        ):  # unchanged, like most tasks
            now.active.append(target)
            now.standbys.append(others)
            continue
        best = history.best_rank(task)
        runner = target
        if target != NO_MEMBER and history.rank(task, process[target]) != best:
            runner = standing[task]
        now.active.append(runner)
        if history.copies[sub[task]] == 1 and runner == target:
            now.standbys.append([])
            continue
        wanted = [target, *others]
        chosen = _next_caught_up(history, task, runner, wanted)
        now.standbys.append(chosen)
        served = {process[m] for m in (runner, *chosen)}
        is_target = is_target and runner == target and sorted(chosen) == sorted(others)
        for member in wanted:
            if process[member] not in served:
                rank = history.rank(task, process[member])
                is_begun = history.is_standby(task, process[member])
                now.warmups.append(WarmUp(not is_begun, rank, member != target, task, member))
    now.warmups.sort()
    return now._replace(is_target=is_target)


def _next_caught_up(history: TaskHistory, task: int, runner: int, wanted: list[int]) -> list[int]:
    """The standbys beside the member that runs the task: by rank, then the target's, then current ones."""
    process, ranks = history.process, history.ranks[task]
    count = history.copies[history.sub[task]] - 1
    target = {process[m]: m for m in wanted}
    current = {process[m]: m for m in history.standbys[task]}
    if history.owner[task] != NO_MEMBER:
        current.setdefault(process[history.owner[task]], history.owner[task])
    candidates = sorted(
        (history.rank(task, p), p not in target, p not in current, p)
        for p in {*ranks, *target} if p != process[runner]
    )  # fmt: skip
    chosen: list[int] = []
    for *_, p in candidates[:count]:
        chosen.append(target[p] if p in target else current[p] if p in current else history.members_of[p][0])
    return chosen
