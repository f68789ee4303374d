"""A first matrix of shares that is nearly always right; ``network`` proves or repairs it."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.goals import Matrix, Problem, Vector

__all__ = ["first_shares"]

_PATIENCE = 8
"""Donors without anything to give that a member asks before it gives up."""


def first_shares(problem: Problem) -> Matrix:
    """Everybody keeps a fair part of what they own; the rest is dealt out evenly; then loads are levelled."""
    shares: Matrix = problem.owned.copy()
    keep_all = problem.floor.any()
    if not keep_all and bool(problem.subscribed.all()):
        _give_up(shares, _quotas(int(problem.supply.sum()), shares.sum(axis=0)), problem.supply)
    left: Vector = problem.supply - shares.sum(axis=1)
    loads: Vector = shares.sum(axis=0)
    # The least subscribed topics first: they have the least choice.
    by_choice = np.argsort(problem.subscribed.sum(axis=1), kind="stable")
    for topic in by_choice[left[by_choice] > 0].tolist():
        units = int(left[topic])
        if problem.away is not None:
            units = _pour(units, problem.subscribed[topic] & (problem.away[topic] == 0), shares[topic], loads)
        _pour(units, problem.subscribed[topic], shares[topic], loads)
    _level(problem, shares, loads)
    return shares


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


def _pour(units: int, who: Vector, row: Vector, loads: Vector) -> int:
    """Raise the lowest loads of ``who``, but no share beyond an even one; return what is left over."""
    members = np.flatnonzero(who)
    if not units or not len(members):
        return units
    had, load = row[members], loads[members]
    room = np.maximum(-(-(int(had.sum()) + units) // len(members)) - had, 0)
    low, high = int(load.min()), int((load + room).max())
    while low < high:  # the highest level all can be raised to
        level = (low + high + 1) // 2
        if int(np.clip(level - load, 0, room).sum()) <= units:
            low = level
        else:
            high = level - 1
    more = np.clip(low - load, 0, room)
    next_up = np.flatnonzero((load + more == low) & (more < room))
    # On a tie the smaller share of the topic goes first, then seniority.
    more[next_up[np.argsort((had + more)[next_up], kind="stable")[: units - int(more.sum())]]] += 1
    row[members] += more
    loads[members] += more
    return units - int(more.sum())


def _level(problem: Problem, shares: Matrix, loads: Vector) -> None:
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
            spare = shares[wanted, high] - problem.floor[wanted, high]
            offered = wanted[spare > 0]
            if not len(offered):
                rivals[high] = -1
                patience -= 1
                continue
            _transfer(problem, shares, loads, offered, (high, low))
            rivals[high] = loads[high]


def _transfer(
    problem: Problem, shares: Matrix, loads: Vector, offered: Vector, pair: tuple[int, int]
) -> None:
    """Move some of the topic that hurts least from one member to another."""
    high, low = pair
    gain, give = shares[offered, low], shares[offered, high]
    owns, owned = problem.owned[offered, low], problem.owned[offered, high]
    harm = (gain >= owns) + 0 - (give > owned)
    keys = [gain - give, harm]
    if problem.away is not None:
        keys.append(problem.away[offered, low] - problem.away[offered, high])
    at = int(np.lexsort(keys)[0])
    units = min(int(loads[high] - loads[low]) // 2, max(int(give[at] - gain[at]) // 2, 1))
    units = min(units, int(give[at] - problem.floor[offered[at], high]))
    if give[at] > owned[at]:
        units = min(units, int(give[at] - owned[at]))
    topic = int(offered[at])
    shares[topic, high] -= units
    shares[topic, low] += units
    loads[high] -= units
    loads[low] += units
