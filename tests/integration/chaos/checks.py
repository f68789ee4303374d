"""The laws of a group, as functions of its members' event logs.

Each returns a list of complaints, empty if the law holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from tests.integration.chaos.event_log import Event, EventKind, EventLog, Position

Partition = tuple[str, int]
Owned = Mapping[str, Collection[Partition]]
Instance = Callable[[str], str]
_SHOWN = 5


def unread_records(acknowledged: Iterable[Position], logs: Iterable[EventLog]) -> list[str]:
    """Every acknowledged record was read by some member at least once."""
    seen = {position for log in logs for event in _of(log, EventKind.READ) for position in event.positions}
    lost: dict[Partition, list[int]] = defaultdict(list)
    for topic, partition, offset in set(acknowledged) - seen:
        lost[topic, partition].append(offset)
    return [
        f"{topic}-{partition}: {len(offsets)} acknowledged records were never read, "
        f"the first at {sorted(offsets)[:_SHOWN]}"
        for (topic, partition), offsets in sorted(lost.items())
    ]


def duplicate_updates(
    doubles: Mapping[tuple[int, bytes], int], keys: Mapping[Position, bytes], logs: Iterable[EventLog]
) -> list[str]:
    """An update is in the state twice only if its record was read again before its offset was committed.

    Args:
        doubles: partition number and key -> updates in the state beyond one for each record.
        keys: of all records.
        logs: of all members.
    """
    seen: set[Position] = set()
    committed: Counter[int] = Counter()
    reread: Counter[tuple[int, bytes]] = Counter()
    for event in sorted((event for log in logs for event in log.events), key=lambda event: event.at):
        for position in event.positions:
            number, offset = position.partition, position.offset
            if event.kind is EventKind.COMMITTED:
                committed[number] = max(committed[number], offset)
            elif event.kind is EventKind.READ:
                if position in seen and offset >= committed[number]:
                    reread[number, keys[position]] += 1
                seen.add(position)
    return [
        f"partition {number}: {count} updates of {key!r} were done twice, "
        f"and {reread[number, key]} of its uncommitted records read again"
        for (number, key), count in sorted(doubles.items())
        if count > reread[number, key]
    ]


def commits_beyond_reads(logs: Iterable[EventLog]) -> list[str]:
    """No member commits an offset beyond a record that no member has read yet."""
    history = sorted(
        ((event.at, log.member, event) for log in logs for event in log.events),
        key=lambda item: item[:2],
    )
    ahead: dict[Partition, set[int]] = defaultdict(set)  # offsets read after a gap
    first_unread: Counter[Partition] = Counter()
    complaints = []
    for _, member, event in history:
        if event.kind not in {EventKind.READ, EventKind.COMMIT}:
            continue
        for topic, number, offset in event.positions:
            partition = topic, number
            if event.kind is EventKind.READ:
                ahead[partition].add(offset)
                while first_unread[partition] in ahead[partition]:
                    ahead[partition].remove(first_unread[partition])
                    first_unread[partition] += 1
            elif offset > first_unread[partition]:
                first = first_unread[partition]
                complaints.append(
                    f"{member} committed {topic}-{number} up to {offset} before {first} was read"
                )
    return complaints


def fallen_commits(history: Iterable[Position], logs: Iterable[EventLog]) -> list[str]:
    """A committed offset falls only if a member's later commit overtook an earlier one.

    A broker may handle the requests of two connections in any order.

    Args:
        history: commits in the order in which the broker accepted them; offset -1: deleted.
        logs: of all members.
    """
    sent: dict[Position, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))  # member -> times
    for log in logs:
        for event in _of(log, EventKind.COMMIT):
            for position in event.positions:
                sent[position][log.member].append(event.at)

    def overtook(later: Position, earlier: Position) -> bool:
        return any(
            max(times) < min(sent[later].get(member, times)) for member, times in sent[earlier].items()
        )

    current: dict[Partition, Position] = {}
    complaints = []
    for position in history:
        before = current.get(position[:2], position)
        if position.offset < before.offset and not overtook(before, position):
            fall = f"{before.offset} to {position.offset}"
            complaints.append(f"the commit of {_shown(position[:2])} fell from {fall}")
        current[position[:2]] = position
    return complaints


def losses_without_cause(
    logs: Iterable[EventLog], session_s: float, outages: Collection[tuple[int, int]]
) -> list[str]:
    """A member loses its membership only after its session, or if the broker was restarted since it joined.

    A session lasts from the broker's handling of a heartbeat, so at least from its sending.  A restarted
    broker forgets a join that was under way, so it may fence a static member that joined.  It accepts any
    heartbeat while it loads its groups.

    Args:
        logs: of all members.
        session_s: session time-out (s).
        outages: when the broker was killed, and when it was started again (ns).
    """
    complaints = []
    for log in logs:
        confirmed_at = joined_at = -1
        for event in log.events:
            if event.kind is EventKind.CONFIRMED:
                confirmed_at = event.at
            elif event.kind is EventKind.OWNED:
                joined_at = event.at
            elif event.kind is EventKind.LOST:
                silent_s = (event.at - confirmed_at) / 1e9
                is_restarted = any(killed < event.at and joined_at < started for killed, started in outages)
                if confirmed_at >= 0 and silent_s < session_s and not is_restarted:
                    complaints.append(f"{log.member} lost its membership {silent_s:.1f} s after a heartbeat")
    return complaints


def reads_out_of_order(logs: Iterable[EventLog]) -> list[str]:
    """A member reads only partitions it owns, and the records of each in order."""
    return [complaint for log in logs for complaint in _order_complaints(log)]


def _order_complaints(log: EventLog) -> Iterator[str]:
    following: dict[
        Partition, int | None
    ] = {}  # owned partition -> offset of its next record; None: not known yet
    for event in log.events:
        if event.kind is EventKind.READ:
            for topic, number, offset in event.positions:
                partition = topic, number
                if partition not in following:
                    yield f"{log.member} read {topic}-{number} at {offset} without owning it"
                    continue
                if (expected := following[partition]) not in {None, offset}:
                    yield f"{log.member} read {topic}-{number} at {offset}, and {expected} was next"
                following[partition] = offset + 1
        elif event.kind is EventKind.ASSIGNED:
            following |= dict.fromkeys((position[:2] for position in event.positions), None)
        elif event.kind in {EventKind.REVOKED, EventKind.LOST}:
            for position in event.positions:
                following.pop(position[:2], None)


def shared_partitions(logs: Iterable[EventLog], instance: Instance = str) -> list[str]:
    """No generation assigns a partition to two members.

    Args:
        logs: of all members.
        instance: a member's name -> what the broker counts as one member: a restarted static member gets its
            assignment back in the same generation.
    """
    owners: dict[tuple[int, Partition], set[str]] = defaultdict(set)
    for log in logs:
        for event in _of(log, EventKind.OWNED):
            for position in event.positions:
                owners[event.generation, position[:2]].add(log.member)
    return [
        f"generation {generation}: {topic}-{number} was given to {sorted(members)}"
        for (generation, (topic, number)), members in sorted(owners.items())
        if len(set(map(instance, members))) > 1
    ]


def taken_partitions(logs: Iterable[EventLog], partitions: int) -> list[str]:
    """The next generation leaves a member all that it owns, as `fairest-sticky` promises.

    Args:
        logs: of all members.
        partitions: numbers below this are checked; a restarted broker may not know the later ones yet.
    """
    complaints = []
    for log in logs:
        generation, owned = -1, set[Partition]()
        for event in log.events:
            if event.kind is EventKind.LOST:
                owned = set()
            elif event.kind is EventKind.OWNED:
                given = {position[:2] for position in event.positions if position.partition < partitions}
                if event.generation == generation + 1 and (taken := owned - given):
                    complaints.append(
                        f"generation {event.generation}: {log.member} had to give up "
                        f"{', '.join(map(_shown, sorted(taken)))}"
                    )
                generation, owned = event.generation, given
    return complaints


def late_revocations(logs: Collection[EventLog], instance: Instance = str) -> list[str]:
    """A member revokes a partition before another member gets it in a later generation with both.

    ``instance`` as in `shared_partitions`.
    """
    generations = {log.member: {event.generation for event in _of(log, EventKind.OWNED)} for log in logs}
    spans: dict[Partition, list[_Span]] = defaultdict(list)
    for log in logs:
        for span in _spans(log):
            spans[span.partition].append(span)
    return [
        f"generation {later.generation}: {_shown(later.partition)} was assigned to {later.member} "
        f"while {earlier.member}, a member of it, still had it"
        for owners in spans.values()
        for earlier, later in permutations(owners, 2)
        if instance(earlier.member) != instance(later.member)
        # A busy member may apply its assignment after the group has gone on without it.
        and earlier.generation < later.generation
        and earlier.begin_at < later.begin_at < earlier.end_at
        and later.generation in generations[earlier.member]
    ]


@dataclass(frozen=True, slots=True)
class _Span:
    """The time for which a member owned a partition.

    Attributes:
        generation: the generation that assigned the partition.
        begin_at: time of the listener's call (ns).
        end_at: time of the revocation or loss; for a killed member, of its last event (ns).
    """

    member: str
    partition: Partition
    generation: int
    begin_at: int
    end_at: int


def _spans(log: EventLog) -> Iterator[_Span]:
    open_spans: dict[Partition, tuple[int, int]] = {}
    generation = last_at = -1
    for event in log.events:
        last_at = event.at
        partitions = [position[:2] for position in event.positions]
        if event.kind is EventKind.OWNED:
            generation = event.generation
        elif event.kind is EventKind.ASSIGNED:
            for partition in partitions:
                open_spans.setdefault(partition, (generation, event.at))
        elif event.kind in {EventKind.REVOKED, EventKind.LOST}:
            for partition in partitions:
                if partition in open_spans:
                    yield _Span(log.member, partition, *open_spans.pop(partition), event.at)
    for partition, begin in open_spans.items():
        yield _Span(log.member, partition, *begin, last_at)


def _shown(partition: Partition) -> str:
    topic, number = partition
    return f"{topic}-{number}"


def ownership_errors(owned: Owned, partitions: Collection[Partition]) -> list[str]:
    """Each partition has exactly one owner."""
    owners = Counter(partition for partitions_of in owned.values() for partition in partitions_of)
    return [
        f"{topic}-{number} has {owners[topic, number]} owners"
        for topic, number in sorted({*partitions, *owners})
        if owners[topic, number] != ((topic, number) in partitions)
    ]


def uncommitted(ends: Mapping[Partition, int], committed: Mapping[Partition, int]) -> list[str]:
    """The committed offset of each partition is its end offset."""
    return [
        f"{topic}-{number}: {committed.get((topic, number), 0)} of {end} records are committed"
        for (topic, number), end in sorted(ends.items())
        if committed.get((topic, number), 0) != end
    ]


Balance = Callable[[Owned], list[str]]
"""The balance that a strategy guarantees for a group without lag."""


def even(owned: Owned) -> list[str]:
    """Members differ by at most one partition."""
    counts = {member: len(partitions) for member, partitions in owned.items()}
    return [f"uneven: {counts}"] if max(counts.values()) - min(counts.values()) > 1 else []


def single_active(owned: Owned) -> list[str]:
    """Exactly one member owns partitions."""
    active = [member for member, partitions in owned.items() if partitions]
    return [] if len(active) == 1 else [f"active members: {active}"]


def _of(log: EventLog, kind: EventKind) -> Iterator[Event]:
    return (event for event in log.events if event.kind is kind)
