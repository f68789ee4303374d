"""How old the oldest record is that is not read yet, from a curve of how the log grew.  Pure."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["Growth"]

_MOST = 32
"""Points that are kept.  With more, every second one of the older half is let go."""


class Growth:
    """Where the log ended at which time; only what is needed to date unread records.

    The further back, the further apart the points: any lag can be dated, an old one more coarsely.
    """

    __slots__ = ("ends", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.ends: list[int] = []

    def clear(self) -> None:
        """Forget it all: the log is another one."""
        self.times.clear()
        self.ends.clear()

    def add(self, time: int, end: int) -> None:
        """Add a point; neither its time nor its end is before the last one's."""
        if len(self.times) == _MOST:
            half = _MOST // 2
            self.times[1:half] = self.times[2:half:2]
            self.ends[1:half] = self.ends[2:half:2]
        self.times.append(time)
        self.ends.append(end)

    def arrival(self, offset: int) -> int | None:
        """When the record of that offset arrived; None: before all that was seen.

        Nothing is asked again for smaller offsets: what only they need is let go.
        """
        behind = bisect_right(self.ends, offset)  # the first point that is beyond the record
        if behind == 0:
            return None
        del self.times[: behind - 1], self.ends[: behind - 1]
        if len(self.times) == 1:
            return self.times[0]  # not beyond any point: as new as can be
        (t0, t1), (e0, e1) = self.times[:2], self.ends[:2]
        return t0 + (offset - e0) * (t1 - t0) // (e1 - e0)
