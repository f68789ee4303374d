"""Pure: the owners of partitions over time, from the members' logs, and moves between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from demo.group.logs import Entry


class Hold(NamedTuple):
    """``member`` owned ``partition`` from ``start`` (inclusive) to ``end`` (exclusive), both in ns."""

    partition: int
    start: int
    end: int
    member: str


class Handover(NamedTuple):
    """At ``t`` ns ``taker`` gained a partition that ``giver`` had owned last."""

    t: int
    partition: int
    giver: str
    taker: str


def holds(members: Mapping[str, Sequence[Entry]], died: Mapping[str, int], end: int) -> list[Hold]:
    """Turn the listener's events into holds, ordered by partition and time.

    A hold begins with the assignment, and ends with the revocation or loss, with the member's death, or at
    ``end``.  An eager rebalance therefore ends all holds, even those of partitions
    that come straight back.

    ``died`` are the times of kills by member, ``end`` is that of the measurement: later events are ignored.
    """
    spans: list[Hold] = []
    for member, log in members.items():
        last = min(died.get(member, end), end)
        since: dict[int, int] = {}
        for entry in log:
            if entry.t >= last:
                break
            for partition in entry.partitions:
                if entry.event == "assigned":
                    since.setdefault(partition, entry.t)
                elif entry.event in {"revoked", "lost"} and partition in since:
                    spans.append(Hold(partition, since.pop(partition), entry.t, member))
        spans += [Hold(partition, start, last, member) for partition, start in since.items()]
    return sorted(spans)


def owners_at(spans: Iterable[Hold], t: int) -> dict[int, str]:
    """Return the owner of each partition at ``t``; partitions without one are left out."""
    return {span.partition: span.member for span in spans if span.start <= t < span.end}


def last_owners(spans: Iterable[Hold], t: int) -> dict[int, str]:
    """Return the last owner of each partition, at ``t`` or before."""
    return {span.partition: span.member for span in sorted(spans) if span.start <= t}


def settled_at(spans: Sequence[Hold], begin: int, end: int, partitions: int) -> int | None:
    """Return the last change of ownership in [begin, end); None if a partition has no owner at the end.

    Without any change it is ``begin``.
    """
    if len(owners_at(spans, end - 1)) < partitions:
        return None
    changes = [t for span in spans for t in (span.start, span.end) if begin <= t < end]
    return max(changes, default=begin)


def least_moves(before: Mapping[int, str], present: Collection[str]) -> int:
    """Return how many partitions must move at least until ``present`` share all of them evenly.

    For one topic that all subscribe to: the shares of n partitions are n // m and, for n % m members, one
    more; the larger shares go to the members that own most already.  Partitions beyond a member's share, and
    those of absent members, move.
    """
    owned = defaultdict(int, dict.fromkeys(present, 0))
    for member in before.values():
        if member in owned:
            owned[member] += 1
    share, larger = divmod(len(before), len(owned))
    counts = sorted(owned.values(), reverse=True)
    kept = sum(min(count, share + (place < larger)) for place, count in enumerate(counts))
    return len(before) - kept


def handovers(spans: Sequence[Hold], since: int) -> list[Handover]:
    """Return every change of owner after ``since`` (ns), ordered by time.

    A partition that comes back to its last owner was not handed over.
    """
    found: list[Handover] = []
    last: dict[int, str] = {}
    for span in sorted(spans):
        giver = last.get(span.partition)
        if giver is not None and giver != span.member and span.start > since:
            found.append(Handover(span.start, span.partition, giver, span.member))
        last[span.partition] = span.member
    return sorted(found)


def double_owned(spans: Sequence[Hold]) -> int:
    """Count the holds that begin while another member still holds the partition: 0 in a correct run."""
    count = 0
    until: dict[int, int] = {}
    for span in sorted(spans):
        count += span.start < until.get(span.partition, span.start)
        until[span.partition] = max(span.end, until.get(span.partition, span.end))
    return count
