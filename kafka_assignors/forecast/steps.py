"""From samples to steps: records arrived, records served, lag, and age of the oldest unread record.  Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

from kafka_assignors.forecast.counters import CommittedOffset, EndMark, Ends, GroupMark
from kafka_assignors.forecast.samples import UNKNOWN, Sample
from kafka_assignors.forecast.settings import LoadSettings

MOST_POINTS = 32
"""Maximum number of points of a `Growth`.  At this number `add` first drops every second point of the older
half."""

Quality = Literal["ok", "interpolated", "gap", "reset", "unknown"]
"""How well a step is known.

- ``ok``: the samples around the step's start and around its end are at most a step apart.
- ``interpolated``: some of them are further apart.
- ``gap``: some of them are further apart than ``max_gap``; arrived and served are unknown.
- ``reset``: arrived is unknown, because the log was replaced or lost records, or may have been replaced.  Or
  served is unknown, because the group's commit was reset.
- ``unknown``: the end offset at the step's start or end is unknown; there are only commits.
"""


class LoadStep(NamedTuple):
    """One step of one partition, or one gap, which may be longer; None: unknown."""

    at: int  # its end, microseconds since 1970
    arrived: int | None
    served: int | None
    lag: int | None  # unread records at its end
    time_lag: int | None  # age of the oldest unread record, microseconds; 0 without lag
    quality: Quality
    end_known: bool  # whether the end offset at its end is known
    steps: int  # its length in steps; above 1 for a gap, or a reset within one


class Growth:
    """Points of the growth of a log: a time (microseconds) and the end offset then.

    The arrival time of a record is interpolated between two points.  Older points are further apart, so older
    arrival times are less precise.
    """

    __slots__ = ("ends", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.ends: list[int] = []

    def clear(self) -> None:
        """Drop all points, because the log was replaced or lost records."""
        self.times.clear()
        self.ends.clear()

    def add(self, time: int, end: int) -> None:
        """Add a point; time and end must not decrease."""
        if len(self.times) == MOST_POINTS:
            half = MOST_POINTS // 2
            self.times[1:half] = self.times[2:half:2]
            self.ends[1:half] = self.ends[2:half:2]
        self.times.append(time)
        self.ends.append(end)

    def arrival(self, offset: int) -> int | None:
        """Return the arrival time of a record, microseconds; None if it arrived before the first point.

        The last point must be beyond the record.  Points before the record are dropped, so a later call with
        a lower offset may return None.
        """
        after = bisect_right(self.ends, offset)  # the first point beyond the record
        if after == 0:
            return None
        del self.times[: after - 1], self.ends[: after - 1]
        (t0, t1), (e0, e1) = self.times[:2], self.ends[:2]
        return t0 + (offset - e0) * (t1 - t0) // (e1 - e0)


class Steps:
    """Turns samples into steps, both in the order of time.

    A step is complete at the first sample that has an end offset and is no older than the step's end.  While
    no end offset is known, or the last one is older than ``max_gap``, commits alone complete steps.
    """

    __slots__ = ("commits", "ends", "growth", "last_end", "last_group", "settings")

    def __init__(self, settings: LoadSettings) -> None:
        self.settings = settings
        self.ends = Ends()
        self.commits = CommittedOffset()
        self.growth = Growth()
        self.last_end = EndMark(UNKNOWN, UNKNOWN, 0, far=False, through=False)
        self.last_group: GroupMark | None = None

    def take(self, sample: Sample) -> Iterator[LoadStep]:
        """Take the next sample, and yield the steps it completes."""
        ends = self.ends
        if ends.restarted(sample):
            self.commits.restart()
        change = self.commits.change(sample)
        marks = ends.take(sample, self.settings, was_reset=change == "reset")
        if change in ("advanced", "reset"):
            self.commits.take(sample, ends, self.settings, was_reset=change == "reset")
        if sample.end == UNKNOWN and (
            ends.time == UNKNOWN or sample.time - ends.time > self.settings.max_gap
        ):
            marks = [
                EndMark(mark.at, UNKNOWN, ends.epoch, far=False, through=False) for mark in self.commits.marks
            ]
        for mark in marks:
            if mark.at > self.last_end.at:
                yield from self._until(mark)

    def _until(self, mark: EndMark) -> Iterator[LoadStep]:
        """Yield the step or gap from the last mark to this one; nothing for the first mark."""
        before, group_before = self.last_end, self.last_group
        group = self.commits.at(mark.at, self.settings.max_gap)
        self.last_end, self.last_group = mark, group
        if mark.epoch != before.epoch:
            self.growth.clear()
        if mark.end != UNKNOWN:
            self.growth.add(mark.at, mark.end)
        lag, time_lag = self._lag(mark, group)
        if before.at == UNKNOWN:
            return
        steps = (mark.at - before.at) // self.settings.step
        whole = steps == 1
        quality = _quality(before, mark, group_before, group, whole=whole)
        known = whole and UNKNOWN not in (before.end, mark.end) and mark.epoch == before.epoch
        arrived = mark.end - before.end if known else None
        served = None
        if whole and group and group_before and group.epoch == group_before.epoch:
            served = group.served - group_before.served
        end_known = mark.end != UNKNOWN
        yield LoadStep(mark.at, arrived, served, lag, time_lag, quality, end_known=end_known, steps=steps)

    def _lag(self, mark: EndMark, group: GroupMark | None) -> tuple[int | None, int | None]:
        if group is None or UNKNOWN in (mark.end, group.position):
            return None, None
        lag = max(0, mark.end - group.position)
        if lag == 0:
            return 0, 0
        arrival = self.growth.arrival(group.position)
        return lag, None if arrival is None else mark.at - arrival


def _quality(
    before: EndMark, mark: EndMark, group_before: GroupMark | None, group: GroupMark | None, *, whole: bool
) -> Quality:
    was_reset = group is not None and group_before is not None and group.resets != group_before.resets
    if UNKNOWN in (before.end, mark.end):
        return "reset" if was_reset else "unknown" if whole else "gap"
    if mark.epoch != before.epoch or (was_reset and whole):
        return "reset"
    if not whole:
        return "gap"
    return "interpolated" if mark.far or before.through else "ok"
