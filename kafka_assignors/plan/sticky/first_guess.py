"""A good first matrix of shares; ``min_cost_flow`` proves or repairs it."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.sticky.goals import TransportProblem

_FEW = 256
"""Without limits, units (partitions) are dealt one by one if units times members are at most this."""

_MOST_REFUSALS = 8
"""A member stops looking for units after this many members that have none for it."""


def first_shares(problem: TransportProblem) -> Matrix:
    """Let members keep a fair part of their partitions, deal the rest evenly, then level the loads."""
    shares: Matrix = problem.owned.copy()
    if problem.away is not None:
        # Racks come before sticky: an owner in no rack of the replicas gives its units up if another
        # subscriber is in one.
        has_near = (problem.subscribed & (problem.away == 0)).any(axis=1)
        shares = np.where((problem.away > 0) & has_near[:, None], problem.floor, shares)
    loads: Vector = shares.sum(axis=0)
    if bool(problem.subscribed.all()):
        quotas = _quotas(int(problem.supply.sum()), loads)
        limits = quotas
    else:
        quotas = np.zeros_like(loads)
        _fill(problem, np.zeros_like(shares), quotas, None)
        # Quotas are estimates here, so only members far above theirs give up units at once.
        limits = np.where(loads > quotas + np.maximum(quotas // 4, 8), quotas, loads)
    if not problem.floor.any():
        _give_up(shares, limits, problem.supply)
    loads = shares.sum(axis=0)
    _fill(problem, shares, loads, quotas)
    _level(problem, shares, loads, quotas)
    return shares


def _fill(problem: TransportProblem, shares: Matrix, loads: Vector, quotas: Vector | None) -> None:
    """Deal the free units to the lowest loads; with ``quotas``, to near members first, up to these."""
    left: Vector = problem.supply - shares.sum(axis=1)
    # Topics with the fewest subscribers come first, because they have the least choice.
    by_choice = np.argsort(problem.subscribed.sum(axis=1), kind="stable")
    for topic in by_choice[left[by_choice] > 0].tolist():
        units = int(left[topic])
        subscribers = problem.subscribed[topic]
        if problem.away is not None and quotas is not None:
            near = subscribers & (problem.away[topic] == 0)
            units = _pour(units, near, shares[topic], loads, np.maximum(quotas - loads, 0))
        _pour(units, subscribers, shares[topic], loads)


def _quotas(partitions: int, loads: Vector) -> Vector:
    """Fair loads with equal subscriptions.  Members above the smaller quota get the larger one first."""
    size, longer = divmod(partitions, len(loads))
    quotas = np.full(len(loads), size, np.int64)
    quotas[np.argsort(loads <= size, kind="stable")[:longer]] += 1
    return quotas


def _give_up(shares: Matrix, limits: Vector, supply: Vector) -> None:
    """Take units from members above their limit, from their largest shares.

    Of equal shares, those of the topics with the fewest free units come first.
    """
    free = supply - shares.sum(axis=1)
    for member in np.flatnonzero(shares.sum(axis=0) > limits).tolist():
        column = shares[:, member].copy()
        units = int(column.sum() - limits[member])
        while units:
            most = int(column.max())
            top = np.flatnonzero(column == most)
            below = int(column[column < most].max(initial=0))
            each = min(units // len(top), most - below)
            if not each:
                each, top = 1, top[np.argsort(free[top], kind="stable")[:units]]
            column[top] -= each
            free[top] += each
            units -= each * len(top)
        shares[:, member] = column


def _pour(units: int, takers: Mask, row: Vector, loads: Vector, limits: Vector | None = None) -> int:
    """Deal units of one row to the lowest loads of ``takers``; return the units left over.

    No share grows beyond an even one, and none by more than the member's entry in ``limits``.
    """
    members = np.flatnonzero(takers)
    if not units or not len(members):
        return units
    if units * len(members) <= _FEW and limits is None:
        _deal(units, members, row, loads)
        return 0
    share, load = row[members], loads[members]
    room = np.maximum(-(-(int(share.sum()) + units) // len(members)) - share, 0)
    if limits is not None:
        room = np.minimum(room, limits[members])
    low, high = int(load.min()), int((load + room).max())
    while low < high:  # find the highest level that the units can raise all loads to
        level = (low + high + 1) // 2
        if int(np.minimum(np.maximum(level - load, 0), room).sum()) <= units:
            low = level
        else:
            high = level - 1
    more = np.minimum(np.maximum(low - load, 0), room)
    lowest = np.flatnonzero((load + more == low) & (more < room))
    # Too few units are left to raise all of these members.  The smallest share of the topic comes first, then
    # the most senior member.
    more[lowest[np.argsort((share + more)[lowest], kind="stable")[: units - int(more.sum())]]] += 1
    row[members] += more
    loads[members] += more
    return units - int(more.sum())


def _deal(units: int, members: Vector, row: Vector, loads: Vector) -> None:
    """As ``_pour``, unit by unit: faster for few units, because each call of numpy takes microseconds."""
    shares, load = row[members].tolist(), loads[members].tolist()
    even = -(-(sum(shares) + units) // len(shares))
    for _ in range(units):
        _, _, lowest = min(
            (n, share, i) for i, (n, share) in enumerate(zip(load, shares, strict=True)) if share < even
        )
        shares[lowest] += 1
        load[lowest] += 1
    row[members], loads[members] = shares, load


def _level(problem: TransportProblem, shares: Matrix, loads: Vector, quotas: Vector) -> None:
    """Let members with low loads take units directly from members with the highest."""
    for low in np.argsort(loads, kind="stable").tolist():
        if loads[low] + 2 > loads.max():
            break
        wanted = np.flatnonzero(problem.subscribed[:, low])
        rivals = loads.copy()
        refusals = 0
        while len(wanted) and refusals < _MOST_REFUSALS:
            high = int(rivals.argmax())
            if rivals[high] < loads[low] + 2:
                break
            offered = wanted[shares[wanted, high] > problem.floor[wanted, high]]
            if len(offered):
                topic, units = _offer(problem, shares, offered, high, low)
                # Once a load has reached its quota, units move one by one.
                to_quota = max(1, min(int(loads[high] - quotas[high]), int(quotas[low] - loads[low])))
                units = min(units, to_quota, int(loads[high] - loads[low]) // 2)
                shares[topic, high] -= units
                shares[topic, low] += units
                loads[high] -= units
                loads[low] += units
                rivals[high] = loads[high]
            else:
                rivals[high] = -1
                refusals += 1


def _offer(
    problem: TransportProblem, shares: Matrix, offered: Vector, high: int, low: int
) -> tuple[int, int]:
    """Return the topic whose units cost least to move from ``high`` to ``low``, and how many may move."""
    low_share, high_share = shares[offered, low], shares[offered, high]
    low_owned, high_owned = problem.owned[offered, low], problem.owned[offered, high]
    keys = [low_share - high_share, (low_share >= low_owned) + 0 - (high_share > high_owned)]
    if problem.away is not None:
        keys.append(problem.away[offered, low] - problem.away[offered, high])
    best = int(np.lexsort(keys)[0])
    topic, share, owned = int(offered[best]), int(high_share[best]), int(high_owned[best])
    units = max((share - int(low_share[best])) // 2, 1)
    # Units that ``high`` did not own cost less to move than units that it owned.  So an offer has units of
    # one kind only.
    spare = share - owned if share > owned else share - int(problem.floor[topic, high])
    return topic, min(units, spare)
