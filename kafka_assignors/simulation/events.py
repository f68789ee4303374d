"""The events of a simulation, in the order of their times."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import Literal

EventKind = Literal["churn", "join", "expire", "stop", "end", "resume", "replan", "check"]
"""The kinds of events.  Some have a number, given in brackets; for the others it is 0.

- ``churn``: a step of the churn (its index).
- ``join``: a process has started, so its consumer joins the group (the member).
- ``expire``: the session of a killed member ends (the member).
- ``stop``: all members know of a round, and stop reading unless they are continuous.
- ``end``: a round ends.
- ``resume``: a member may read again after a round (the member).
- ``replan``: a rebalance is requested regardless of lag.
- ``check``: the leader checks for uneven lag (the number of the last round).
"""


class EventQueue:
    """The events to come.  Of events at one time, the one that was scheduled first comes first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, EventKind, int]] = []
        self._tie = itertools.count()

    @property
    def next_at(self) -> float:
        """Time of the next event, seconds; infinite if there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def schedule(self, at: float, event: EventKind, number: int = 0) -> None:
        """Add an event at a time, seconds."""
        heapq.heappush(self._heap, (at, next(self._tie), event, number))

    def pop(self) -> tuple[EventKind, int]:
        """Remove the next event; return its kind and number."""
        _, _, event, number = heapq.heappop(self._heap)
        return event, number
