"""End and committed offsets at the ends of steps, interpolated between samples.  Pure.

A counter is assumed to grow evenly between two samples.  Its value at the end of a step is therefore a point
on a straight line, rounded down.  The records of a step are the difference of two such values.  So rounding
only moves records from one step to the next, and the steps of any period add up to the counter's growth.

Nothing is interpolated between samples that are further apart than ``max_gap`` or that belong to two *epochs*
of a counter.  A counter never decreases within an epoch.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.forecast.commit_order import CommitChange, CommitOrder
from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN, Sample, position
from kafka_assignors.forecast.settings import LoadSettings


class EndMark(NamedTuple):
    """The end offset at the end of a step."""

    at: int  # time of the step's end
    end: int
    epoch: int
    far: bool  # the sample that completed the step came more than a step after the sample before it
    through: bool  # `far`, and the step's end lies between the two samples, not at the second


class GroupMark(NamedTuple):
    """The position of a group at the end of a step."""

    at: int  # time of the step's end
    served: int  # records served since the last reset, the last `restart` or the first sample
    position: int  # offset of the next record to read, or UNKNOWN
    epoch: int  # `served` and `position` are not comparable between two epochs
    resets: int  # number of times the group's commit was reset or lost


def on_line(before: int, after: int, start: int, stop: int, at: int) -> int:
    """Return the value at time ``at`` on the line from ``before`` to ``after``, rounded down.

    The line leads from time ``start`` to time ``stop``.
    """
    return before + (after - before) * (at - start) // (stop - start)


def step_ends(after: int, until: int, step: int) -> range:
    """Return the ends of steps in ``(after, until]``; all times are in one unit."""
    return range((after // step + 1) * step, until + 1, step)


class Ends:
    """The begin and end offsets of the log.

    A new epoch begins

    - when begin or end decreases: the topic was created again, or has lost records;
    - when the end grows after the group's commit was reset: a new topic of the same name may have outgrown
      the old one.  An unchanged begin above 0 rules that out.
    """

    __slots__ = ("begin", "doubted", "end", "epoch", "time")

    def __init__(self) -> None:
        self.time = self.begin = self.end = UNKNOWN
        self.epoch = 0
        self.doubted = False  # the group's commit was reset since the last known end

    def restarted(self, sample: Sample) -> bool:
        """Return whether begin or end decreased, so the log was replaced or lost records."""
        return 0 <= sample.end < self.end or 0 <= sample.begin < self.begin

    def take(self, sample: Sample, settings: LoadSettings, *, was_reset: bool) -> list[EndMark]:
        """Take the next sample, and return a mark for each end of a step that it completes."""
        self.doubted |= was_reset
        same_begin = 0 < sample.begin == self.begin
        restarted = self.restarted(sample) or (self.doubted and not same_begin and 0 <= self.end < sample.end)
        if restarted:
            self.epoch += 1
        if restarted or sample.begin != UNKNOWN:
            self.begin = sample.begin
        if sample.end == UNKNOWN:
            if restarted:  # the begin shows that the log is new; its end is unknown
                self.time = self.end = UNKNOWN
            return []
        self.doubted = False
        before, start = self.end, self.time
        self.time, self.end = sample.time, sample.end
        length = sample.time - start
        if start == UNKNOWN or restarted or length > settings.max_gap:
            mark = EndMark(sample.time, sample.end, self.epoch, far=False, through=False)
            return [] if sample.time % settings.step else [mark]
        return [
            EndMark(
                step_end,
                on_line(before, sample.end, start, sample.time, step_end),
                self.epoch,
                far=length > settings.step,
                through=length > settings.step and step_end != sample.time,
            )
            for step_end in step_ends(start, sample.time, settings.step)
        ]


class CommittedOffset:
    """The committed offset, the position that follows from it, and the records served.

    - Records that retention deleted before the group read them were not served.  If the previous commit was
      before the begin of the log at that time, served records are counted from that begin.
    - A commit that decreases or disappears is a reset.  A reset begins a new epoch, and so does the first
      commit.  ``commit_order`` distinguishes a reset from a stale sample.
    - Marks are kept until an end offset of the same time is known.
    """

    __slots__ = ("committed", "epoch", "marks", "order", "position", "resets", "served", "start", "time")

    def __init__(self) -> None:
        self.time = self.committed = self.start = self.position = UNKNOWN
        self.served = self.epoch = self.resets = 0
        self.marks: list[GroupMark] = []
        self.order = CommitOrder()

    def restart(self) -> None:
        """Begin a new epoch without a commit, because the log was replaced."""
        self.time = self.committed = self.start = self.position = UNKNOWN
        self.served = 0
        self.epoch += 1

    def change(self, sample: Sample) -> CommitChange | None:
        """Return how the sample changes the commit; None if the sample's commit is ``UNKNOWN``.

        `take` accepts only a sample that advances or resets the commit.
        """
        if sample.committed == UNKNOWN:
            return None
        return self.order.observe(sample, self.committed, self.time)

    def take(self, sample: Sample, ends: Ends, settings: LoadSettings, *, was_reset: bool) -> None:
        """Take the commit of the next sample."""
        since = self._mark(self.time)
        self._count(sample.committed, was_reset=was_reset)
        self.start = ends.begin
        # A commit made between two samples of the end may be beyond the last known end.
        is_beyond_end = sample.end == UNKNOWN and sample.committed > ends.end
        end = UNKNOWN if is_beyond_end else ends.end
        self.position = position(ends.begin, end, sample.committed, settings.reset)
        self.time, self.committed = sample.time, sample.committed
        now = self._mark(sample.time)
        if since.at == UNKNOWN or sample.time - since.at > settings.max_gap:
            if sample.time % settings.step == 0:
                self.marks.append(now)
            return
        self.marks.extend(
            _between(since, now, step_end) for step_end in step_ends(since.at, sample.time, settings.step)
        )

    def at(self, time: int, max_gap: int) -> GroupMark | None:
        """Return the group's position at a time, or None if it is unknown.  Drop all earlier marks.

        After the last sample the position stays the same, because a later commit would have been sampled.
        """
        while self.marks and self.marks[0].at < time:
            del self.marks[0]
        if self.marks and self.marks[0].at == time:
            return self.marks[0]
        if self.time != UNKNOWN and 0 <= time - self.time <= max_gap:
            return self._mark(time)
        return None

    def _count(self, committed: int, *, was_reset: bool) -> None:
        before = self.committed
        if before == UNKNOWN:
            return
        if was_reset:
            self.served = 0  # the sum over all epochs may exceed 64 bits
            self.epoch += 1
            self.resets += 1
        elif before == NO_COMMIT:
            self.epoch += committed != NO_COMMIT
        else:
            self.served += max(0, committed - max(before, self.start))

    def _mark(self, at: int) -> GroupMark:
        return GroupMark(at, self.served, self.position, self.epoch, self.resets)


def _between(since: GroupMark, now: GroupMark, at: int) -> GroupMark:
    """Interpolate between two marks; repeat the older one if the epochs differ or a position is unknown."""
    if at == now.at:
        return now
    if since.epoch != now.epoch or UNKNOWN in (since.position, now.position):
        return since._replace(at=at)
    return now._replace(
        at=at,
        served=on_line(since.served, now.served, since.at, now.at, at),
        position=on_line(since.position, now.position, since.at, now.at, at),
    )
