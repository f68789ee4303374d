"""What two writers tell of one group's commits, and when what one of them tells says nothing.  Pure.

A *look* (with the end of the log) has the time at which the end was told, and its commit was told some time
before that.  A *record* (a commit alone) has the time of the broker that took it, whose clock is another one.
So in the order of times one may tell of an older commit than the other has told of already.  Each by itself
tells of commits in their order.

- A writer that tells of a lower commit than it told before has seen the group set back.
- The other one has then until ``SLACK`` to tell of the same; what it tells of before is from before that.
- A commit that is lower only than what the *other* one told is old news within ``SLACK`` of that, and a group
  set back after it.
"""

from __future__ import annotations

from typing import Literal

from kafka_assignors.forecast.samples import UNKNOWN, Sample
from kafka_assignors.forecast.settings import SECOND

__all__ = ["SLACK", "Told", "Word"]

SLACK = 30 * SECOND
"""How far two writers may be apart.

Clocks that anybody keeps are seconds apart at most, and a look takes at most ten (``timeout_s`` of the
sampler).  And it is less than a step of a minute, so that what is found late is in the same step or the next.
"""

Word = Literal["on", "back", "stale"]
"""The group went on (or stays); it was set back, or lost its commit; or nothing can be said by that."""


class Told:
    """What each of the two told last, and which of them has yet to tell of a set-back."""

    __slots__ = ("behind", "committed", "since")

    def __init__(self) -> None:
        self.committed = [UNKNOWN, UNKNOWN]  # of looks, of records
        self.behind = UNKNOWN  # 0: looks, 1: records
        self.since = UNKNOWN

    def hear(self, sample: Sample, taken: int, taken_at: int) -> Word:
        """Hear what a sample tells of the commit, which has to be something.

        Args:
            sample: the next one, in the order of times.
            taken: the commit that the group is known by, or ``UNKNOWN``.
            taken_at: when that was told.
        """
        who = 1 if sample.end == UNKNOWN else 0
        before, self.committed[who] = self.committed[who], sample.committed
        back = sample.committed < before
        if self.behind == who:
            if not back and sample.time - self.since < SLACK:
                return "stale"
            self.behind = UNKNOWN  # it has told of it now, or had the time to
            back = False
        if not back and sample.committed < taken:
            if sample.time - taken_at < SLACK:
                return "stale"
            back = True
        if not back:
            return "on"
        other = 1 - who  # has yet to tell of it; unless it has never told of anything
        self.behind = UNKNOWN if self.committed[other] == UNKNOWN else other
        self.since = sample.time
        return "back"
