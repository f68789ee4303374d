"""Computes the pauses of partitions in a rebalance from the members' reports.  Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Delivery:
    """Records of one partition that one poll returned."""

    at: float
    member: str
    partition: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """A call of a member's listener, or a member's death.

    Attributes:
        at: time of the call, seconds.
        gained: whether partitions were assigned; else revoked, lost, or the member died.
        is_lost: whether partitions were lost.
    """

    at: float
    member: str
    partitions: frozenset[int]
    gained: bool
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """The effect of an event on partitions.

    Attributes:
        kept: longest pause of each partition that kept its owner, seconds.
        moved: longest pause of each partition that has another owner afterwards, seconds.
        duplicates: number of repeated deliveries of a record.
    """

    kept: tuple[float, ...] = ()
    moved: tuple[float, ...] = ()
    duplicates: int = 0


def pauses(
    deliveries: Iterable[Delivery],
    changes: Iterable[Ownership],
    begin: float,
    end: float,
    slow: frozenset[str] = frozenset(),
) -> Figures:
    """Return the longest pause of each partition between ``begin`` and ``end``.

    A pause may start before ``begin``, and is cut at ``end``.  Pauses of partitions that a slow member owns
    at ``begin`` or ``end`` are left out, because its batches cause them; their duplicates count.
    """
    changes = list(changes)
    before, after = owners_at(changes, begin), owners_at(changes, end)
    by_partition: defaultdict[int, list[Delivery]] = defaultdict(list)
    for delivery in sorted(deliveries, key=lambda each: each.at):
        by_partition[delivery.partition].append(delivery)
    kept: list[float] = []
    moved: list[float] = []
    duplicates = 0
    for partition in before.keys() | after.keys() | by_partition.keys():
        seen, last, pause = -1, begin, 0.0
        for delivery in by_partition[partition]:
            if begin <= delivery.at <= end:
                duplicates += max(0, min(seen, delivery.last) - delivery.first + 1)
            if delivery.last > seen:
                if begin <= delivery.at <= end:
                    pause = max(pause, delivery.at - last)
                seen, last = delivery.last, min(delivery.at, end)
        owners = before.get(partition), after.get(partition)
        if not slow & {*owners}:
            (kept if owners[0] == owners[1] else moved).append(max(pause, end - last))
    return Figures(tuple(kept), tuple(moved), duplicates)


def owners_at(changes: Iterable[Ownership], at: float) -> dict[int, str]:
    """Return the owner of each owned partition at a time."""
    owners: dict[int, str] = {}
    for change in sorted(changes, key=lambda each: (each.at, each.gained)):
        if change.at <= at:
            for partition in change.partitions:
                if change.gained:
                    owners[partition] = change.member
                elif owners.get(partition) == change.member:
                    del owners[partition]
    return owners


def owned_twice(changes: Iterable[Ownership]) -> list[int]:
    """Return the partitions that were assigned while another member still owned them."""
    owner: dict[int, str] = {}
    twice = []
    for change in sorted(changes, key=lambda each: (each.at, each.gained)):
        for partition in change.partitions:
            if not change.gained:
                if owner.get(partition) == change.member:
                    del owner[partition]
            elif owner.setdefault(partition, change.member) != change.member:
                twice.append(partition)
                owner[partition] = change.member
    return twice


def missing(deliveries: Iterable[Delivery], ends: Mapping[int, int]) -> int:
    """Count the records before the end offsets that no member delivered."""
    spans: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for delivery in deliveries:
        spans[delivery.partition].append((delivery.first, delivery.last))
    count = 0
    for partition, end in ends.items():
        next_offset = 0
        for first, last in sorted(spans[partition]):
            count += max(0, min(first, end) - next_offset)
            next_offset = max(next_offset, last + 1)
        count += max(0, end - next_offset)
    return count
