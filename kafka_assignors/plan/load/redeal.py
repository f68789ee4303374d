"""Dealing partitions that are free by their lag: the heaviest first, each to who has least."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.standing import Field
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector

__all__ = ["redeal"]

_FULL = 2**63 - 1
"""More than any load."""

_MOST_WORK = 2**27
"""Partitions times members: with more, and unequal subscriptions, nothing is dealt anew."""


def redeal(field: Field, owners: Owners, free: Mask, *, by_room: bool) -> Owners:
    """Deal the free partitions anew; with ``by_room`` without a change of anybody's count.

    Topics with the same subscribers are dealt as one, so that of each such lot everybody gets as many as it
    has of it in ``owners``; or, without regard to room, whatever comes.  Ties: the senior member; partitions
    of equal lag by number.  Cost: a heap; with unequal subscriptions a look at all members for each
    partition, and where that would be too many nothing is dealt anew.
    """
    chosen = np.flatnonzero(free & (owners >= 0))
    dealt: Owners = owners.copy()
    dealt[chosen] = -1
    kept = np.flatnonzero(dealt >= 0)
    loads = np.zeros(field.subscribed.shape[1], np.int64)
    np.add.at(loads, dealt[kept], field.lag[kept])
    kinds, subscribers = _lots(field)
    members = len(loads)
    lot = kinds[field.topic_of[chosen]]
    room = subscribers * np.int64(len(chosen))
    if by_room:
        cells = np.bincount(lot * members + owners[chosen], minlength=room.size)
        room = cells.reshape(room.shape)
    chosen, lot = _by_lag(field, chosen, lot)
    if len(room) == 1:
        dealt[chosen] = _of_one_lot(field.lag[chosen].tolist(), loads.tolist(), room[0].tolist())
    elif len(chosen) * members <= _MOST_WORK:
        dealt[chosen] = _of_several(field.lag[chosen], lot, loads, room)
    else:
        return owners
    return dealt


def _by_lag(field: Field, chosen: Vector, lot: Vector) -> tuple[Vector, Vector]:
    order = np.argsort(-field.lag[chosen], kind="stable")
    return chosen[order], lot[order]


def _of_one_lot(lags: list[int], loads: list[int], room: list[int]) -> list[int]:
    heap = [(load, member) for member, load in enumerate(loads) if room[member]]
    heapify(heap)
    to = []
    for lag in lags:
        load, member = heap[0]
        to.append(member)
        room[member] -= 1
        if room[member]:
            heapreplace(heap, (load + lag, member))
        else:
            heappop(heap)
    return to


def _of_several(lags: Vector, lot: Vector, loads: Vector, room: Matrix) -> list[int]:
    to = []
    for of, lag in zip(lot.tolist(), lags.tolist(), strict=True):
        member = int(np.where(room[of] > 0, loads, _FULL).argmin())
        to.append(member)
        loads[member] += lag
        room[of, member] -= 1
    return to


def _lots(field: Field) -> tuple[Vector, Mask]:
    """By topic that somebody subscribes to: its place among the different sets of subscribers; and those."""
    kinds: dict[bytes, int] = {}
    of = [kinds.setdefault(row.tobytes(), len(kinds)) if row.any() else -1 for row in field.subscribed]
    rows = np.frombuffer(b"".join(kinds), np.bool_)
    return np.array(of, np.int64), rows.reshape(len(kinds), field.subscribed.shape[1])
