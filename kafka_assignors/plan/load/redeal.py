"""Deals movable partitions by lag, heaviest first, each to the member whose load it leaves lowest."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from kafka_assignors.plan.arrays import Mask, Matrix, Vector, count_pairs
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import LoadProblem

_FULL = 2**63 - 1
"""More than any load."""

_MOST_WORK = 2**27
"""Limit of partitions times members with unequal subscriptions; above it nothing is dealt."""


def redeal(problem: LoadProblem, owners: Owners, movable: Mask, *, keep_counts: bool) -> Owners:
    """Take the movable partitions from their owners, and deal them again by lag.

    Partitions without an owner stay without one.  Topics with the same subscribers are of one kind
    (``Group.kinds``).  With ``keep_counts`` each member gets as many movable partitions of a kind as it has
    in ``owners``.  Ties go to the senior member; of partitions of equal lag, the lower number comes first.

    Cost of a partition: an operation on a heap, and one comparison for each different capacity; with unequal
    subscriptions a pass over all members.  If these passes would be more work than ``_MOST_WORK``, the result
    is ``owners``.
    """
    chosen = np.flatnonzero(movable & (owners >= 0))
    if not problem.equal and len(chosen) * problem.members > _MOST_WORK:
        return owners
    chosen = chosen[np.argsort(-problem.lag[chosen], kind="stable")]
    dealt: Owners = owners.copy()
    dealt[chosen] = -1
    records = problem.records(dealt)
    kind_of_topic, subscribers = problem.kinds
    kind = kind_of_topic[problem.topic_of[chosen]]
    room = subscribers * np.int64(len(chosen))
    if keep_counts:
        room = count_pairs(kind, owners[chosen], (len(subscribers), problem.members))
    if problem.equal and len(chosen):
        dealt[chosen] = _of_one_kind(problem, chosen, records, room[kind[0]].tolist())
    else:
        dealt[chosen] = _of_several_kinds(problem, chosen, kind, records, room)
    return dealt


def _of_one_kind(problem: LoadProblem, chosen: Vector, records: Vector, room: list[int]) -> list[int]:
    """Deal from one heap for each capacity; its top is the best member of that capacity, whatever the lag."""
    heaps: dict[int, list[tuple[int, int]]] = {}
    for member, (capacity, so_far) in enumerate(
        zip(problem.capacities.parts.tolist(), records.tolist(), strict=True)
    ):
        if room[member]:
            heaps.setdefault(capacity, []).append((so_far, member))
    for heap in heaps.values():
        heapify(heap)
    load_of = problem.capacities.load
    dealt = []

    def key(capacity: int) -> tuple[int, int]:
        """Return the load with the partition that is dealt (``lag``), and the member."""
        so_far, member = heaps[capacity][0]
        return load_of(member, so_far + lag), member

    for lag in problem.lag[chosen].tolist():
        capacity = min(heaps, key=key)
        heap = heaps[capacity]
        so_far, member = heap[0]
        dealt.append(member)
        room[member] -= 1
        if room[member]:
            heapreplace(heap, (so_far + lag, member))
        elif len(heap) > 1:
            heappop(heap)
        else:
            del heaps[capacity]
    return dealt


def _of_several_kinds(
    problem: LoadProblem, chosen: Vector, kind: Vector, records: Vector, room: Matrix
) -> list[int]:
    dealt = []
    for i, lag in zip(kind.tolist(), problem.lag[chosen].tolist(), strict=True):
        member = int(np.where(room[i] > 0, problem.capacities.loads(records + lag), _FULL).argmin())
        dealt.append(member)
        records[member] += lag
        room[i, member] -= 1
    return dealt
