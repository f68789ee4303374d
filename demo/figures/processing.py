"""Pure: which records were processed when, what was lost or done twice, and when records had to wait."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from demo.group.logs import Entry


class Stretch(NamedTuple):
    """``member`` processed offsets ``first`` to ``last`` of one partition; ``began`` and ``ended`` in ns."""

    began: int
    ended: int
    first: int
    last: int
    member: str


class Wait(NamedTuple):
    """Between two stretches, records waited from ``start`` to ``end`` (ns) and nobody processed any.

    Args:
        partition: the partition.
        idle: when the stretch before ended: nobody was at work from here on.
        start: the later of ``idle`` and the time the next unprocessed record was sent.
        end: when the next stretch began.
        member: who took it up again.
    """

    partition: int
    idle: int
    start: int
    end: int
    member: str


class Account(NamedTuple):
    """The books over one run, in records."""

    produced: int
    processed: int  # distinct records processed at least once
    lost: int  # produced and never processed
    duplicates: int  # times a record was processed again


class Sent:
    """When each record of one partition was sent.

    Args:
        entries: the partition's ``sent`` entries; offsets ascend.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._lasts = [entry.last for entry in entries]
        self._times = [entry.t for entry in entries]

    def at(self, offset: int) -> int | None:
        """Return when an offset was acknowledged, in ns; None if it never was."""
        index = bisect.bisect_left(self._lasts, offset)
        return self._times[index] if index < len(self._times) else None


def stretches(members: Mapping[str, Sequence[Entry]], end: int) -> dict[int, list[Stretch]]:
    """Join the ``done`` entries up to ``end`` ns to one stretch a batch, per partition, ordered by time."""
    found: dict[int, list[Stretch]] = defaultdict(list)
    for member, log in members.items():
        for entry in log:
            if entry.event != "done" or entry.t > end:
                continue
            of_partition = found[entry.partitions[0]]
            last = of_partition[-1] if of_partition else None
            if last and (last.member, last.began, last.last + 1) == (member, entry.began, entry.first):
                of_partition[-1] = last._replace(ended=entry.t, last=entry.last)
            else:
                of_partition.append(Stretch(entry.began, entry.t, entry.first, entry.last, member))
    return {partition: sorted(found[partition]) for partition in sorted(found)}


def last_first_time(members: Mapping[str, Sequence[Entry]], end: int) -> int | None:
    """Return when (ns) the last record was processed for its first time; later repeats do not count."""
    first: dict[tuple[int, int], int] = {}
    for log in members.values():
        for entry in log:
            if entry.event == "done" and entry.t <= end:
                for offset in range(entry.first, entry.last + 1):
                    record = entry.partitions[0], offset
                    first[record] = min(entry.t, first.get(record, entry.t))
    return max(first.values(), default=None)


def sent_by_partition(driver: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Collect the ``sent`` entries per partition, ordered by offset."""
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in driver:
        if entry.event == "sent":
            found[entry.partitions[0]].append(entry)
    return {partition: sorted(found[partition], key=lambda entry: entry.first) for partition in sorted(found)}


def account(sent: Mapping[int, Sequence[Entry]], done: Mapping[int, Sequence[Stretch]]) -> Account:
    """Compare what was sent with what was processed, offset by offset."""
    produced = processed = duplicates = missing = 0
    for partition in sent.keys() | done.keys():
        offered = {offset for e in sent.get(partition, ()) for offset in range(e.first, e.last + 1)}
        times = 0
        taken: set[int] = set()
        for stretch in done.get(partition, ()):
            times += stretch.last - stretch.first + 1
            taken.update(range(stretch.first, stretch.last + 1))
        produced += len(offered)
        processed += len(taken)
        missing += len(offered - taken)
        duplicates += times - len(taken)
    return Account(produced, processed, missing, duplicates)


def waits(partition: int, done: Sequence[Stretch], sent: Sent) -> list[Wait]:
    """Find every interval in which records of one partition waited while nobody processed any of it.

    Args:
        partition: its number.
        done: its stretches, ordered by time.
        sent: its send times.
    """
    found: list[Wait] = []
    reached = -1
    for before, after in pairwise(done):
        reached = max(reached, before.last)
        offered = sent.at(reached + 1)
        if offered is None:
            continue  # all that was ever sent had been processed: a repeat, nothing waited
        start = max(before.ended, offered)
        if start < after.began:
            found.append(Wait(partition, before.ended, start, after.began, after.member))
    return found


class Join(NamedTuple):
    """A member saw a new generation at ``t`` ns, and was ready to work at ``ready``, after its warm-ups."""

    t: int
    ready: int
    generation: int


def joins(log: Sequence[Entry]) -> list[Join]:
    """List the rebalances a member took part in."""
    found: list[Join] = []
    for entry in log:
        if entry.event == "joined":
            found.append(Join(entry.t, entry.t, entry.generation))
        elif entry.event == "opened" and found:
            found[-1] = found[-1]._replace(ready=entry.t)
    return found


def caused_by(wait: Wait, rebalances: Sequence[Join]) -> Join | None:
    """Return the first rebalance that caused the wait, of those of the member that ended it.

    It did if the member joined after the partition fell idle and before it was taken up, and records were
    already waiting before the member was ready.  A wait of two cooperative rounds is one wait.
    """
    for join in rebalances:
        if wait.idle <= join.t <= wait.end and wait.start < max(join.ready, join.t + 1):
            return join
    return None


def step_behind(wait: Wait, cause: Join, steps: Sequence[int], orphaned_by: Sequence[int]) -> int | None:
    """Return which step of the churn a wait belongs to; None if it came before all of them.

    Steps may follow each other faster than the group rebalances: after a kill nothing happens until the
    session times out, and by then somebody else may have joined.  So a wait belongs to the kill that took
    the partition's owner while it was idle; else to the first step between its start and the rebalance; else
    to the last step before its start, whose second round this is.

    Args:
        wait: a wait.
        cause: the first rebalance that caused it.
        steps: when each step happened, in ns, ascending.
        orphaned_by: places in ``steps`` of the kills of members that owned the partition.
    """
    for place in orphaned_by:
        if wait.idle <= steps[place] <= wait.end:
            return place
    between = [place for place, t in enumerate(steps) if wait.start <= t <= cause.t]
    before = [place for place, t in enumerate(steps) if t < wait.start]
    return between[0] if between else before[-1] if before else None
