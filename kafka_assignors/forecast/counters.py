"""Counters between two looks: what they were where steps end.  Pure.

Between two samples a counter is taken to have grown evenly, so its value at the end of a step is a point on a
straight line, rounded down.  Values of neighbouring steps are subtracted from each other, so what is rounded
away in one step is in the next: over any stretch the steps add up to what the counter grew by.

No line is drawn

- between samples further apart than ``max_gap``;
- from one *epoch* of a counter to the next.  Within an epoch it only grows.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.forecast.samples import NO_COMMIT, UNKNOWN, Sample, position
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.told import Told, Word

__all__ = ["Commits", "EndMark", "Ends", "GroupMark"]


class EndMark(NamedTuple):
    """The end of the log at the end of a step."""

    at: int
    end: int
    epoch: int
    far: bool  # the line that leads to it is longer than a step
    through: bool  # and goes on beyond it


class GroupMark(NamedTuple):
    """How far a group was at the end of a step."""

    at: int
    served: int  # records since the first sample
    position: int  # offset of the next record to read, or UNKNOWN
    epoch: int  # between two epochs, what was served is not known
    resets: int  # how often the group was set back, or lost its commit


def on_line(before: int, after: int, start: int, stop: int, at: int) -> int:
    """Value at a time between two others, rounded down."""
    return before + (after - before) * (at - start) // (stop - start)


def step_ends(after: int, until: int, step: int) -> range:
    """Where steps end, in ``(after, until]``."""
    return range((after // step + 1) * step, until + 1, step)


class Ends:
    """The end offset, and with it where the log begins.

    A new epoch begins when begin or end go backwards: the topic was created again, or has lost records.  One
    also begins when the end goes on and the group was set back since it was seen last: that may be another
    topic by the same name which has outgrown it.  Unless it begins where it did, beyond 0: no new one would.
    """

    __slots__ = ("begin", "doubted", "end", "epoch", "time")

    def __init__(self) -> None:
        self.time = self.begin = self.end = UNKNOWN
        self.epoch = 0
        self.doubted = False  # the group was set back since the end was seen last

    def restarted(self, sample: Sample) -> bool:
        """Whether this log is no longer the one seen before."""
        return 0 <= sample.end < self.end or 0 <= sample.begin < self.begin

    def take(self, sample: Sample, settings: LoadSettings, *, set_back: bool) -> list[EndMark]:
        """Go on to the next sample; those without an end tell at most of the begin.

        Args:
            sample: the sample.
            settings: step and gap.
            set_back: whether it tells that the group was.
        """
        self.doubted |= set_back
        same = 0 < sample.begin == self.begin
        restarted = self.restarted(sample) or (self.doubted and not same and 0 <= self.end < sample.end)
        if restarted:
            self.epoch += 1
            self.begin = sample.begin
        if sample.begin != UNKNOWN:
            self.begin = sample.begin
        if sample.end == UNKNOWN:
            if restarted:  # seen by its begin alone
                self.time = self.end = UNKNOWN
            return []
        self.doubted = False
        before, start = self.end, self.time
        self.time, self.end = sample.time, sample.end
        length = sample.time - start
        if start == UNKNOWN or restarted or length > settings.max_gap:
            whole = sample.time % settings.step == 0
            return [EndMark(sample.time, sample.end, self.epoch, far=False, through=False)] if whole else []
        return [
            EndMark(
                at,
                on_line(before, sample.end, start, sample.time, at),
                self.epoch,
                far=length > settings.step,
                through=length > settings.step and at != sample.time,
            )
            for at in step_ends(start, sample.time, settings.step)
        ]


class Commits:
    """The committed offset.

    - Records that retention took before the group read them were not served: what counts is the way from
      where the group stood, which is where the log began if that was beyond its commit.
    - A commit that goes backwards, or is gone, is a reset by somebody: a new epoch.  So is the first one.
      Which one goes backwards, and which one was told by the wrong clock, is for ``told`` to say.
    - Marks wait until the end offset has come as far.
    """

    __slots__ = ("committed", "epoch", "marks", "place", "resets", "served", "start", "time", "told")

    def __init__(self) -> None:
        self.time = self.committed = self.start = self.place = UNKNOWN
        self.served = self.epoch = self.resets = 0
        self.marks: list[GroupMark] = []
        self.told = Told()

    def restart(self) -> None:
        """The log is another one: what was committed in the old one says nothing of it."""
        self.time = self.committed = self.start = self.place = UNKNOWN
        self.epoch += 1

    def hear(self, sample: Sample) -> Word | None:
        """What the next sample tells; None: nothing of commits.  `take` it unless it is that, or stale."""
        if sample.committed == UNKNOWN:
            return None
        return self.told.hear(sample, self.committed, self.time)

    def take(self, sample: Sample, ends: Ends, settings: LoadSettings, *, set_back: bool) -> None:
        """Go on to the commit of the next sample.

        Args:
            sample: the sample.
            ends: what is known of the log, from this sample or an earlier one.
            settings: step, gap and reset.
            set_back: whether it tells that the group was.
        """
        since = self._mark(self.time)
        self._count(sample.committed, set_back=set_back)
        self.start = ends.begin
        # One that is made between two looks may well be beyond the end that was seen last.
        passed = sample.end == UNKNOWN and sample.committed > ends.end
        self.place = position(ends.begin, UNKNOWN if passed else ends.end, sample.committed, settings.reset)
        self.time, self.committed = sample.time, sample.committed
        now = self._mark(sample.time)
        if since.at == UNKNOWN or sample.time - since.at > settings.max_gap:
            if sample.time % settings.step == 0:
                self.marks.append(now)
            return
        self.marks.extend(_between(since, now, at) for at in step_ends(since.at, sample.time, settings.step))

    def at(self, time: int, max_gap: int) -> GroupMark | None:
        """How far the group was then; None: not known.  Marks before that are let go.

        After the last sample it stays where it is: what was committed later would have been seen.
        """
        while self.marks and self.marks[0].at < time:
            del self.marks[0]
        if self.marks and self.marks[0].at == time:
            return self.marks[0]
        if self.time != UNKNOWN and 0 <= time - self.time <= max_gap:
            return self._mark(time)
        return None

    def _count(self, committed: int, *, set_back: bool) -> None:
        was = self.committed
        if was == UNKNOWN:
            return
        if set_back:
            self.epoch += 1
            self.resets += 1
        elif was == NO_COMMIT:
            self.epoch += committed != NO_COMMIT
        else:
            self.served += max(0, committed - max(was, self.start))

    def _mark(self, at: int) -> GroupMark:
        return GroupMark(at, self.served, self.place, self.epoch, self.resets)


def _between(since: GroupMark, now: GroupMark, at: int) -> GroupMark:
    """A mark on the line from one to the other; where there is none, the old one up to the new one."""
    if at == now.at:
        return now
    if since.epoch != now.epoch or UNKNOWN in (since.position, now.position):
        return since._replace(at=at)
    return now._replace(
        at=at,
        served=on_line(since.served, now.served, since.at, now.at, at),
        position=on_line(since.position, now.position, since.at, now.at, at),
    )
