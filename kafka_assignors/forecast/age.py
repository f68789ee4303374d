"""Arrival time of the oldest unread record, from the growth of the log.  Pure."""

from __future__ import annotations

from bisect import bisect_right

MOST_POINTS = 32
"""Maximum number of points.  At the maximum, every second point of the older half is dropped."""


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
        """Drop all points, because the log was replaced."""
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
        """Return the arrival time of a record; None if it arrived before the first point.

        Offsets must not decrease between calls: points before this record are dropped.
        """
        after = bisect_right(self.ends, offset)  # the first point beyond the record
        if after == 0:
            return None
        del self.times[: after - 1], self.ends[: after - 1]
        if len(self.times) == 1:
            return self.times[0]  # the newest point; no point is beyond the record
        (t0, t1), (e0, e1) = self.times[:2], self.ends[:2]
        return t0 + (offset - e0) * (t1 - t0) // (e1 - e0)
