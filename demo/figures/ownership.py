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


def find_holds(members: Mapping[str, Sequence[Entry]], died: Mapping[str, int], end: int) -> list[Hold]:
    """Turn the listener's events into holds, ordered by partition and time.

    A hold begins with the assignment, and ends with the revocation or loss, with the member's death, or at
    ``end``.  An eager rebalance therefore ends all holds, even those of partitions that come straight back.

    ``died`` are the times (ns) of kills by member.  Events after ``end`` (ns) are ignored.
    """
    holds: list[Hold] = []
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
                    holds.append(Hold(partition, since.pop(partition), entry.t, member))
        holds += [Hold(partition, start, last, member) for partition, start in since.items()]
    return sorted(holds)


def owners_at(holds: Iterable[Hold], t: int) -> dict[int, str]:
    """Return the owner of each partition at ``t``; partitions without one are left out."""
    return {hold.partition: hold.member for hold in holds if hold.start <= t < hold.end}


def last_owners(holds: Iterable[Hold], t: int) -> dict[int, str]:
    """Return the last owner of each partition, at ``t`` or before."""
    return {hold.partition: hold.member for hold in sorted(holds) if hold.start <= t}


def settled_at(holds: Sequence[Hold], begin: int, end: int, partitions: int) -> int | None:
    """Return the last change of ownership in [begin, end); None if a partition has no owner at the end.

    Without any change it is ``begin``.
    """
    if len(owners_at(holds, end - 1)) < partitions:
        return None
    changes = [t for hold in holds for t in (hold.start, hold.end) if begin <= t < end]
    return max(changes, default=begin)


def least_moves(before: Mapping[int, str], present: Collection[str]) -> int:
    """Return how many partitions must move at least until ``present`` share all of them evenly.

    For one topic that all subscribe to.  Of n partitions, each of m members gets n // m, and n % m members
    get one more: those that own most already.  Partitions beyond these numbers, and those of absent members,
    move.
    """
    owned = defaultdict(int, dict.fromkeys(present, 0))
    for member in before.values():
        if member in owned:
            owned[member] += 1
    share, larger = divmod(len(before), len(owned))
    counts = sorted(owned.values(), reverse=True)
    kept = sum(min(count, share + (place < larger)) for place, count in enumerate(counts))
    return len(before) - kept


def handovers(holds: Sequence[Hold], since: int) -> list[Handover]:
    """Return every change of owner after ``since`` (ns), ordered by time.

    A partition that comes back to its last owner was not handed over.
    """
    changes: list[Handover] = []
    last: dict[int, str] = {}
    for hold in sorted(holds):
        giver = last.get(hold.partition)
        if giver is not None and giver != hold.member and hold.start > since:
            changes.append(Handover(hold.start, hold.partition, giver, hold.member))
        last[hold.partition] = hold.member
    return sorted(changes)


def double_owned(holds: Sequence[Hold]) -> int:
    """Count the holds that begin while another member still holds the partition: 0 in a correct run."""
    count = 0
    until: dict[int, int] = {}
    for hold in sorted(holds):
        count += hold.start < until.get(hold.partition, hold.start)
        until[hold.partition] = max(hold.end, until.get(hold.partition, hold.end))
    return count
