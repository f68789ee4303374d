"""What shall be done now, on the way to the target: nobody runs a task that somebody else could run sooner.

KIP-441, "Assignment Algorithm": active tasks to the most caught-up members, standbys to the next most
caught-up ones, and extra copies that warm up the members that tasks are to move to.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.plan.model import NOBODY
from kafka_assignors.plan.stateful.history import History

__all__ = ["Now", "WarmUp", "this_round"]


class WarmUp(NamedTuple):
    """A further copy that is wanted; they sort by who comes first.

    Attributes:
        is_new: nobody has told the member to build it yet.
        rank: how far it is.
        for_standby: it shall be a standby in the end, not the active one.
        task: by number.
        member: by number.
    """

    is_new: bool
    rank: int
    for_standby: bool
    task: int
    member: int


class Now(NamedTuple):
    """Roles in this round, by task; ``warmups`` are all that are wanted, the first ones first."""

    active: list[int]
    standbys: list[list[int]]
    warmups: list[WarmUp]
    settled: bool


def this_round(history: History, standing: list[int], active: list[int], standbys: list[list[int]]) -> Now:
    """Go to the target as far as its copies are caught up.

    Args:
        history: who has what.
        standing: by task, who could run it at once, or soonest.
        active: by task, who shall run it in the end.
        standbys: by task, who shall have its other copies in the end.
    """
    process = history.process
    now = Now([], [], [], settled=True)
    settled = True
    sub = history.sub.tolist()
    for task, (target, others) in enumerate(zip(active, standbys, strict=True)):
        ranks = history.ranks[task]
        if (
            history.owner[task] == target == standing[task]
            and len(ranks) == history.copies[sub[task]]
            and not any(ranks.values())
            and sorted(history.standbys[task]) == sorted(others)
        ):  # as it was, which is most of them
            now.active.append(target)
            now.standbys.append(others)
            continue
        best = history.best_rank(task)
        runs = target
        if target != NOBODY and history.rank(task, process[target]) != best:
            runs = standing[task]
        now.active.append(runs)
        if history.copies[sub[task]] == 1 and runs == target:
            now.standbys.append([])
            continue
        wanted = [target, *others]
        chosen = _next_caught_up(history, task, runs, wanted)
        now.standbys.append(chosen)
        there = {process[m] for m in (runs, *chosen)}
        settled = settled and runs == target and sorted(chosen) == sorted(others)
        for member in wanted:
            if process[member] not in there:
                rank = history.rank(task, process[member])
                told = history.is_standby(task, process[member])
                now.warmups.append(WarmUp(not told, rank, member != target, task, member))
    now.warmups.sort()
    return now._replace(settled=settled)


def _next_caught_up(history: History, task: int, runs: int, wanted: list[int]) -> list[int]:
    """The standbys of this round: by rank, then those of the target, then those that are standbys already."""
    process, ranks = history.process, history.ranks[task]
    count = history.copies[history.sub[task]] - 1
    target = {process[m]: m for m in wanted}
    told = {process[m]: m for m in history.standbys[task]}
    if history.owner[task] != NOBODY:
        told.setdefault(process[history.owner[task]], history.owner[task])
    candidates = sorted(
        (history.rank(task, p), p not in target, p not in told, p)
        for p in {*ranks, *target} if p != process[runs]
    )  # fmt: skip
    chosen: list[int] = []
    for *_, p in candidates[:count]:
        chosen.append(target[p] if p in target else told[p] if p in told else history.crews[p][0])
    return chosen
