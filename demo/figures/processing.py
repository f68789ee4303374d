"""Pure: records processed, lost and done twice, and the times in which records waited."""

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
    """Between two stretches, records waited from ``start`` to ``end`` (ns) and no member processed any."""

    idle: int  # end of the stretch before
    start: int  # the later of ``idle`` and the time the next unprocessed record was sent
    end: int  # begin of the next stretch
    member: str  # of the next stretch


class Account(NamedTuple):
    """Counts of one run, in records."""

    produced: int
    processed: int  # distinct records processed at least once
    lost: int  # produced and never processed
    duplicates: int  # times a record was processed again


class Sent:
    """Send times of the records of one partition."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._lasts = [entry.last for entry in entries]
        self._times = [entry.t for entry in entries]

    def at(self, offset: int) -> int | None:
        """Return when an offset was acknowledged, in ns; None if it never was."""
        index = bisect.bisect_left(self._lasts, offset)
        return self._times[index] if index < len(self._times) else None


def stretches(members: Mapping[str, Sequence[Entry]], end: int) -> dict[int, list[Stretch]]:
    """Join the ``done`` entries of each batch, up to ``end`` (ns); by partition, ordered by time."""
    by_partition: dict[int, list[Stretch]] = defaultdict(list)
    for member, log in members.items():
        for entry in log:
            if entry.event != "done" or entry.t > end:
                continue
            of_partition = by_partition[entry.partitions[0]]
            last = of_partition[-1] if of_partition else None
            if last and (last.member, last.began, last.last + 1) == (member, entry.began, entry.first):
                of_partition[-1] = last._replace(ended=entry.t, last=entry.last)
            else:
                of_partition.append(Stretch(entry.began, entry.t, entry.first, entry.last, member))
    return {partition: sorted(by_partition[partition]) for partition in sorted(by_partition)}


def last_first_time(members: Mapping[str, Sequence[Entry]], end: int) -> int | None:
    """Return when (ns) a record was last processed for the first time; repeats do not count."""
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
    sent: dict[int, list[Entry]] = defaultdict(list)
    for entry in driver:
        if entry.event == "sent":
            sent[entry.partitions[0]].append(entry)
    return {partition: sorted(sent[partition], key=lambda entry: entry.first) for partition in sorted(sent)}


def account(sent: Mapping[int, Sequence[Entry]], done: Mapping[int, Sequence[Stretch]]) -> Account:
    """Compare sent with processed records, offset by offset."""
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


def waits(done: Sequence[Stretch], sent: Sent) -> list[Wait]:
    """Return every interval in which records of a partition waited and no member processed any of them."""
    intervals: list[Wait] = []
    reached = -1
    for before, after in pairwise(done):
        reached = max(reached, before.last)
        offered = sent.at(reached + 1)
        if offered is None:
            continue  # no record waited: all records ever sent had been processed, and one is repeated
        start = max(before.ended, offered)
        if start < after.began:
            intervals.append(Wait(before.ended, start, after.began, after.member))
    return intervals


class Join(NamedTuple):
    """A member saw a new generation at ``t`` ns, and was ready to work at ``ready``, after its warm-ups."""

    t: int
    ready: int
    generation: int


def joins(log: Sequence[Entry]) -> list[Join]:
    """List a member's rebalances."""
    rebalances: list[Join] = []
    for entry in log:
        if entry.event == "joined":
            rebalances.append(Join(entry.t, entry.t, entry.generation))
        elif entry.event == "opened" and rebalances:
            rebalances[-1] = rebalances[-1]._replace(ready=entry.t)
    return rebalances


def caused_by(wait: Wait, rebalances: Sequence[Join]) -> Join | None:
    """Return the first rebalance that caused the wait; None: no rebalance did.

    A rebalance caused it if the member joined while the partition was idle, and records waited before the
    member was ready.  ``rebalances`` are those of the member that ended the wait.  Two cooperative rounds
    cause one wait.
    """
    for join in rebalances:
        if wait.idle <= join.t <= wait.end and wait.start < max(join.ready, join.t + 1):
            return join
    return None


def step_behind(wait: Wait, cause: Join, steps: Sequence[int], orphaned_by: Sequence[int]) -> int | None:
    """Return the index of the step of the churn that a wait belongs to; None if it came before all steps.

    Steps may follow each other faster than the group rebalances: after a kill nothing happens until the
    session times out, and another member may join meanwhile.  So a wait belongs to the kill of the
    partition's owner while the partition was idle; else to the first step between its start and the
    rebalance; else to the last step before its start, because the rebalance is the second round of that step.

    ``steps`` are the times of the steps in ns.  ``orphaned_by`` are the indices of the kills of owners of the
    partition.
    """
    for index in orphaned_by:
        if wait.idle <= steps[index] <= wait.end:
            return index
    between = [index for index, t in enumerate(steps) if wait.start <= t <= cause.t]
    before = [index for index, t in enumerate(steps) if t < wait.start]
    return between[0] if between else before[-1] if before else None
