"""What must hold of a group's life, as functions of the ledgers its members wrote.

Each returns its complaints, none if all is well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from tests.integration.chaos.ledger import Entry, Kind, Ledger, Place

Partition = tuple[str, int]
Owned = Mapping[str, Collection[Partition]]
_SHOWN = 5


def unread(acknowledged: Iterable[Place], ledgers: Iterable[Ledger]) -> list[str]:
    """Every acknowledged record was read by some member at least once."""
    seen = {place for ledger in ledgers for entry in _of(ledger, Kind.READ) for place in entry.places}
    lost: dict[Partition, list[int]] = defaultdict(list)
    for topic, partition, offset in set(acknowledged) - seen:
        lost[topic, partition].append(offset)
    return [
        f"{topic}-{partition}: {len(offsets)} acknowledged records were never read, "
        f"the first at {sorted(offsets)[:_SHOWN]}"
        for (topic, partition), offsets in sorted(lost.items())
    ]


def done_twice(doubles: int, ledgers: Iterable[Ledger]) -> list[str]:
    """State has an update twice only where its record was read twice.

    Args:
        doubles: updates in the state beyond one a record.
        ledgers: of all members.
    """
    reads = Counter(place for ledger in ledgers for entry in _of(ledger, Kind.READ) for place in entry.places)
    again = reads.total() - len(reads)
    return [f"{doubles} updates were done twice, and {again} records read again"] if doubles > again else []


def overcommitted(ledgers: Iterable[Ledger]) -> list[str]:
    """No member commits beyond a record that nobody has read by then."""
    history = sorted(
        ((entry.at, ledger.member, entry) for ledger in ledgers for entry in ledger.entries),
        key=lambda item: item[:2],
    )
    ahead: dict[Partition, set[int]] = defaultdict(set)  # read, with a gap before
    first_unread: Counter[Partition] = Counter()
    complaints = []
    for _, member, entry in history:
        if entry.kind not in {Kind.READ, Kind.COMMIT}:
            continue
        for topic, number, offset in entry.places:
            at = topic, number
            if entry.kind is Kind.READ:
                ahead[at].add(offset)
                while first_unread[at] in ahead[at]:
                    ahead[at].remove(first_unread[at])
                    first_unread[at] += 1
            elif offset > first_unread[at]:
                complaints.append(
                    f"{member} committed {topic}-{number} up to {offset} before {first_unread[at]} was read"
                )
    return complaints


def out_of_order(ledgers: Iterable[Ledger]) -> list[str]:
    """A member reads only what it owns, and of each partition it owns one record after the other."""
    return [complaint for ledger in ledgers for complaint in _out_of_order(ledger)]


def _out_of_order(ledger: Ledger) -> Iterator[str]:
    following: dict[Partition, int | None] = {}  # what it owns -> offset of its next record, once it is known
    for entry in ledger.entries:
        if entry.kind is Kind.READ:
            for topic, number, offset in entry.places:
                at = topic, number
                if at not in following:
                    yield f"{ledger.member} read {topic}-{number} at {offset} without owning it"
                    continue
                if (expected := following[at]) not in {None, offset}:
                    yield f"{ledger.member} read {topic}-{number} at {offset}, and {expected} was next"
                following[at] = offset + 1
        elif entry.kind is Kind.ASSIGNED:
            following |= dict.fromkeys((place[:2] for place in entry.places), None)
        elif entry.kind in {Kind.REVOKED, Kind.LOST}:
            for place in entry.places:
                following.pop(place[:2], None)


def shared(ledgers: Iterable[Ledger]) -> list[str]:
    """In no generation two members are given the same partition."""
    owners: dict[tuple[int, Partition], set[str]] = defaultdict(set)
    for ledger in ledgers:
        for entry in _of(ledger, Kind.OWNED):
            for place in entry.places:
                owners[entry.generation, place[:2]].add(ledger.member)
    return [
        f"generation {generation}: {topic}-{number} was given to {sorted(members)}"
        for (generation, (topic, number)), members in sorted(owners.items())
        if len(members) > 1
    ]


def kept_too_long(ledgers: Collection[Ledger]) -> list[str]:
    """A member of a generation has given back what that generation assigns to another member."""
    generations = {
        ledger.member: {entry.generation for entry in _of(ledger, Kind.OWNED)} for ledger in ledgers
    }
    spans: dict[Partition, list[_Span]] = defaultdict(list)
    for ledger in ledgers:
        for span in _spans(ledger):
            spans[span.partition].append(span)
    return [
        f"generation {later.generation}: {_shown(later.partition)} was assigned to {later.member} "
        f"while {earlier.member}, a member of it, still had it"
        for owners in spans.values()
        for earlier, later in permutations(owners, 2)
        if earlier.member != later.member
        and earlier.begin_at < later.begin_at < earlier.end_at
        and later.generation in generations[earlier.member]
    ]


@dataclass(frozen=True, slots=True)
class _Span:
    """The time for which a member had a partition.

    Attributes:
        generation: that assigned the partition.
        begin_at: when the listener was called (ns).
        end_at: when it was revoked or lost; of a member that was killed, its last entry (ns).
    """

    member: str
    partition: Partition
    generation: int
    begin_at: int
    end_at: int


def _spans(ledger: Ledger) -> Iterator[_Span]:
    begun: dict[Partition, tuple[int, int]] = {}
    generation = last_at = -1
    for entry in ledger.entries:
        last_at = entry.at
        partitions = [place[:2] for place in entry.places]
        if entry.kind is Kind.OWNED:
            generation = entry.generation
        elif entry.kind is Kind.ASSIGNED:
            for partition in partitions:
                begun.setdefault(partition, (generation, entry.at))
        elif entry.kind in {Kind.REVOKED, Kind.LOST}:
            for partition in partitions:
                if partition in begun:
                    yield _Span(ledger.member, partition, *begun.pop(partition), entry.at)
    for partition, begin in begun.items():
        yield _Span(ledger.member, partition, *begin, last_at)


def _shown(partition: Partition) -> str:
    topic, number = partition
    return f"{topic}-{number}"


def not_owned_once(owned: Owned, partitions: Collection[Partition]) -> list[str]:
    """Each partition has exactly one owner."""
    owners = Counter(partition for mine in owned.values() for partition in mine)
    return [
        f"{topic}-{number} has {owners[topic, number]} owners"
        for topic, number in sorted({*partitions, *owners})
        if owners[topic, number] != ((topic, number) in partitions)
    ]


def lagging(ends: Mapping[Partition, int], committed: Mapping[Partition, int]) -> list[str]:
    """All that was written is committed, and no more."""
    return [
        f"{topic}-{number}: {committed.get((topic, number), 0)} of {end} records are committed"
        for (topic, number), end in sorted(ends.items())
        if committed.get((topic, number), 0) != end
    ]


Balance = Callable[[Owned], list[str]]
"""What a strategy promises of a group without lag."""


def even(owned: Owned) -> list[str]:
    """Members differ by one partition at the most."""
    counts = {member: len(mine) for member, mine in owned.items()}
    return [f"uneven: {counts}"] if max(counts.values()) - min(counts.values()) > 1 else []


def one_has_all(owned: Owned) -> list[str]:
    """One member is active, the others stand by."""
    busy = [member for member, mine in owned.items() if mine]
    return [] if len(busy) == 1 else [f"active members: {busy}"]


def _of(ledger: Ledger, kind: Kind) -> Iterator[Entry]:
    return (entry for entry in ledger.entries if entry.kind is kind)
