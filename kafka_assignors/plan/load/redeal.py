"""Deal free partitions by lag: the heaviest first, each to the member that has the least load with it."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import LoadProblem
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector

_FULL = 2**63 - 1
"""More than any load."""

_MOST_WORK = 2**27
"""Limit of partitions times members with unequal subscriptions; above it nothing is dealt."""


def redeal(problem: LoadProblem, owners: Owners, free: Mask, *, by_room: bool) -> Owners:
    """Deal the free partitions by lag; with ``by_room`` every member keeps its count.

    Topics with the same subscribers form a lot.  With ``by_room`` each member gets as many partitions of a
    lot as it has in ``owners``.  Ties go to the senior member; partitions of equal lag go by number.  Cost: a
    heap; with unequal subscriptions a pass over all members for each partition.  Beyond ``_MOST_WORK`` the
    result is ``owners``.
    """
    chosen = np.flatnonzero(free & (owners >= 0))
    dealt: Owners = owners.copy()
    dealt[chosen] = -1
    kept = np.flatnonzero(dealt >= 0)
    records = np.zeros(problem.subscribed.shape[1], np.int64)
    np.add.at(records, dealt[kept], problem.lag[kept])
    kinds, subscribers = _lots(problem)
    members = len(records)
    lot = kinds[problem.topic_of[chosen]]
    room = subscribers * np.int64(len(chosen))
    if by_room:
        cells = np.bincount(lot * members + owners[chosen], minlength=room.size)
        room = cells.reshape(room.shape)
    order = np.argsort(-problem.lag[chosen], kind="stable")
    chosen, lot = chosen[order], lot[order]
    if len(room) == 1:
        dealt[chosen] = _of_one_lot(problem, chosen, records, room[0].tolist())
    elif len(chosen) * members <= _MOST_WORK:
        dealt[chosen] = _of_several(problem, chosen, lot, records, room)
    else:
        return owners
    return dealt


def _of_one_lot(problem: LoadProblem, chosen: Vector, records: Vector, room: list[int]) -> list[int]:
    """Deal from a heap for each capacity: its first member is the best of that capacity for any lag."""
    heaps: dict[int, list[tuple[int, int]]] = {}
    for member, (part, known) in enumerate(
        zip(problem.capacities.parts.tolist(), records.tolist(), strict=True)
    ):
        if room[member]:
            heaps.setdefault(part, []).append((known, member))
    for heap in heaps.values():
        heapify(heap)
    load_of = problem.capacities.load
    dealt = []

    def key(part: int) -> tuple[int, int]:
        known, member = heaps[part][0]
        return load_of(member, known + lag), member

    for lag in problem.lag[chosen].tolist():
        part = min(heaps, key=key)
        heap = heaps[part]
        known, member = heap[0]
        dealt.append(member)
        room[member] -= 1
        if room[member]:
            heapreplace(heap, (known + lag, member))
        elif len(heap) > 1:
            heappop(heap)
        else:
            del heaps[part]
    return dealt


def _of_several(
    problem: LoadProblem, chosen: Vector, lot: Vector, records: Vector, room: Matrix
) -> list[int]:
    dealt = []
    for i, lag in zip(lot.tolist(), problem.lag[chosen].tolist(), strict=True):
        member = int(np.where(room[i] > 0, problem.capacities.loads(records + lag), _FULL).argmin())
        dealt.append(member)
        records[member] += lag
        room[i, member] -= 1
    return dealt


def _lots(problem: LoadProblem) -> tuple[Vector, Mask]:
    """By topic: the index of its set of subscribers, -1 if it has none; and the distinct sets."""
    kinds: dict[bytes, int] = {}
    kind_of = [kinds.setdefault(row.tobytes(), len(kinds)) if row.any() else -1 for row in problem.subscribed]
    rows = np.frombuffer(b"".join(kinds), np.bool_)
    return np.array(kind_of, np.int64), rows.reshape(len(kinds), problem.subscribed.shape[1])
