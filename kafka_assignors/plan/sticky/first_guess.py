"""A first matrix of shares that is nearly always right; ``network`` proves or repairs it."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.sticky.goals import Matrix, Problem, Vector

__all__ = ["first_shares"]

_FEW = 256
"""Units times members that are looked through one by one."""

_PATIENCE = 8
"""Donors without anything to give that a member asks before it gives up."""


def first_shares(problem: Problem) -> Matrix:
    """Everybody keeps a fair part of what they own; the rest is dealt out evenly; then loads are levelled."""
    shares: Matrix = problem.owned.copy()
    if problem.away is not None:
        # Near goes before kept: what is far from its owner is free, if somebody is near.
        somebody = (problem.subscribed & (problem.away == 0)).any(axis=1)
        shares = np.where((problem.away > 0) & somebody[:, None], problem.floor, shares)
    loads: Vector = shares.sum(axis=0)
    if bool(problem.subscribed.all()):
        quotas = _quotas(int(problem.supply.sum()), loads)
        crowded = quotas
    else:
        quotas = np.zeros_like(loads)
        _fill(problem, np.zeros_like(shares), quotas, None)
        # These are estimates: only who has far too much gives up a lot at once.
        crowded = np.where(loads > quotas + np.maximum(quotas // 4, 8), quotas, loads)
    if not problem.floor.any():
        _give_up(shares, crowded, problem.supply)
    loads = shares.sum(axis=0)
    _fill(problem, shares, loads, quotas)
    _level(problem, shares, loads, quotas)
    return shares


def _fill(problem: Problem, shares: Matrix, loads: Vector, quotas: Vector | None) -> None:
    """Deal out what nobody has, to the lowest loads; first to those that are near, up to their quotas."""
    left: Vector = problem.supply - shares.sum(axis=1)
    # The least subscribed topics first: they have the least choice.
    by_choice = np.argsort(problem.subscribed.sum(axis=1), kind="stable")
    for topic in by_choice[left[by_choice] > 0].tolist():
        units = int(left[topic])
        who = problem.subscribed[topic]
        if problem.away is not None and quotas is not None:
            near = who & (problem.away[topic] == 0)
            units = _pour(units, near, shares[topic], loads, np.maximum(quotas - loads, 0))
        _pour(units, who, shares[topic], loads)


def _quotas(partitions: int, had: Vector) -> Vector:
    """Equal subscriptions: loads differ by one at most; who had more keeps the larger one, then seniority."""
    size, longer = divmod(partitions, len(had))
    quotas = np.full(len(had), size, np.int64)
    quotas[np.argsort(had <= size, kind="stable")[:longer]] += 1
    return quotas


def _give_up(shares: Matrix, quotas: Vector, supply: Vector) -> None:
    """Members above their quota give up partitions of the topics of which they have most.

    Among those, of the topics of which least is free yet: so that many can share what is freed.
    """
    free = supply - shares.sum(axis=1)
    for member in np.flatnonzero(shares.sum(axis=0) > quotas).tolist():
        mine = shares[:, member].copy()
        units = int(mine.sum() - quotas[member])
        while units:
            most = int(mine.max())
            top = np.flatnonzero(mine == most)
            below = int(mine[mine < most].max(initial=0))
            each = min(units // len(top), most - below)
            if not each:
                each, top = 1, top[np.argsort(free[top], kind="stable")[:units]]
            mine[top] -= each
            free[top] += each
            units -= each * len(top)
        shares[:, member] = mine


def _pour(units: int, who: Vector, row: Vector, loads: Vector, limits: Vector | None = None) -> int:
    """Raise the lowest loads of ``who``, but no share beyond an even one; return what is left over."""
    members = np.flatnonzero(who)
    if not units or not len(members):
        return units
    if units * len(members) <= _FEW and limits is None:
        _deal(units, members, row, loads)
        return 0
    had, load = row[members], loads[members]
    room = np.maximum(-(-(int(had.sum()) + units) // len(members)) - had, 0)
    if limits is not None:
        room = np.minimum(room, limits[members])
    low, high = int(load.min()), int((load + room).max())
    while low < high:  # the highest level all can be raised to
        level = (low + high + 1) // 2
        if int(np.minimum(np.maximum(level - load, 0), room).sum()) <= units:
            low = level
        else:
            high = level - 1
    more = np.minimum(np.maximum(low - load, 0), room)
    next_up = np.flatnonzero((load + more == low) & (more < room))
    # On a tie the smaller share of the topic goes first, then seniority.
    more[next_up[np.argsort((had + more)[next_up], kind="stable")[: units - int(more.sum())]]] += 1
    row[members] += more
    loads[members] += more
    return units - int(more.sum())


def _deal(units: int, members: Vector, row: Vector, loads: Vector) -> None:
    """As ``_pour``, one by one: what takes numpy tens of microseconds whatever the size."""
    had, load = row[members].tolist(), loads[members].tolist()
    even = -(-(sum(had) + units) // len(had))
    for _ in range(units):
        _, _, at = min(
            (n, share, i) for i, (n, share) in enumerate(zip(load, had, strict=True)) if share < even
        )
        had[at] += 1
        load[at] += 1
    row[members], loads[members] = had, load


def _level(problem: Problem, shares: Matrix, loads: Vector, quotas: Vector) -> None:
    """Let members with little take from those with most, where that is direct."""
    for low in np.argsort(loads, kind="stable").tolist():
        if loads[low] + 2 > loads.max():
            break
        wanted = np.flatnonzero(problem.subscribed[:, low])
        rivals = loads.copy()
        patience = _PATIENCE
        while len(wanted) and patience:
            high = int(rivals.argmax())
            if rivals[high] < loads[low] + 2:
                break
            offered = wanted[shares[wanted, high] > problem.floor[wanted, high]]
            if len(offered):
                topic, units = _offer(problem, shares, offered, (high, low))
                # Nobody goes far beyond where it should end.
                off = max(1, min(int(loads[high] - quotas[high]), int(quotas[low] - loads[low])))
                units = min(units, off, int(loads[high] - loads[low]) // 2)
                shares[topic, high] -= units
                shares[topic, low] += units
                loads[high] -= units
                loads[low] += units
                rivals[high] = loads[high]
            else:
                rivals[high] = -1
                patience -= 1


def _offer(problem: Problem, shares: Matrix, offered: Vector, pair: tuple[int, int]) -> tuple[int, int]:
    """The topic of which a unit hurts least in going from the first to the second, and how many may go."""
    high, low = pair
    gain, give = shares[offered, low], shares[offered, high]
    owns, owned = problem.owned[offered, low], problem.owned[offered, high]
    keys = [gain - give, (gain >= owns) + 0 - (give > owned)]
    if problem.away is not None:
        keys.append(problem.away[offered, low] - problem.away[offered, high])
    at = int(np.lexsort(keys)[0])
    topic = int(offered[at])
    units = max(int(give[at] - gain[at]) // 2, 1)
    spare = give[at] - owned[at] if give[at] > owned[at] else give[at] - problem.floor[topic, high]
    return topic, min(units, int(spare))
