"""Dealing partitions that are free by their lag: the heaviest first, each to who has least."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.goals import Mask, Vector
from kafka_assignors.plan.standing import Field

__all__ = ["redeal"]


def redeal(field: Field, owners: Owners, free: Mask, *, by_room: bool) -> Owners:
    """Deal the free partitions anew; with ``by_room`` without a change of anybody's count.

    Topics with the same subscribers are dealt as one, so that of each such lot everybody gets as many as it
    has of it in ``owners``; or, without regard to room, whatever comes.  Ties: the senior member; partitions
    of equal lag by number.  Cost: a heap.
    """
    chosen = np.flatnonzero(free & (owners >= 0))
    dealt: Owners = owners.copy()
    dealt[chosen] = -1
    kept = np.flatnonzero(dealt >= 0)
    start = np.zeros(field.subscribed.shape[1], np.int64)
    np.add.at(start, dealt[kept], field.lag[kept])
    loads = start.tolist()
    kinds, subscribers = _lots(field)
    lot = kinds[field.topic_of[chosen]]
    members = len(loads)
    room: list[dict[int, int]]
    if by_room:
        room = [{} for _ in subscribers]
        cells, sizes = np.unique(lot * members + owners[chosen], return_counts=True)
        for cell, size in zip(cells.tolist(), sizes.tolist(), strict=True):
            room[cell // members][cell % members] = size
    else:
        room = [dict.fromkeys(np.flatnonzero(row).tolist(), len(chosen) + 1) for row in subscribers]
    heaps = [[(loads[member], member) for member in there] for there in room]
    for heap in heaps:
        heapify(heap)
    by_lag = np.argsort(-field.lag[chosen], kind="stable")
    lags = field.lag[chosen[by_lag]].tolist()
    to = []
    for of, lag in zip(lot[by_lag].tolist(), lags, strict=True):
        heap = heaps[of]
        load, member = heappop(heap)
        while load != loads[member]:  # it got something of another lot since
            heappush(heap, (loads[member], member))
            load, member = heappop(heap)
        to.append(member)
        loads[member] += lag
        room[of][member] -= 1
        if room[of][member]:
            heappush(heap, (loads[member], member))
    dealt[chosen[by_lag]] = to
    return dealt


def _lots(field: Field) -> tuple[Vector, list[Mask]]:
    """By topic: its place among the different sets of subscribers; and those."""
    kinds: dict[bytes, int] = {}
    of = [kinds.setdefault(row.tobytes(), len(kinds)) for row in field.subscribed]
    return np.array(of, np.int64), [np.frombuffer(row, np.bool_) for row in kinds]
