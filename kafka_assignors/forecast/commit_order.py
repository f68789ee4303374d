"""CommittedOffset of one group from two writers with two clocks: advanced, reset or stale.  Pure.

The *sampler* reads the end offset and the committed offset of a partition.  Its samples have the time of the
end offset; the commit was read some time before.  The *recorder* reads commit records, without end offsets.
Its samples have the time of the broker that took the commit, which has another clock.  So in the order of
times, one writer may report an older commit than the other already has.  Each writer alone reports commits in
their order.

- The group's commit was reset if a writer reports a lower commit than it reported before.
- The other writer then has `SLACK` to report the reset.  Its samples before that are stale.
- A commit lower only than the *other* writer's is stale within `SLACK` of that one, and a reset after it.
"""

from __future__ import annotations

from typing import Literal

from kafka_assignors.forecast.samples import UNKNOWN, Sample
from kafka_assignors.forecast.settings import SECOND

SLACK = 30 * SECOND
"""Maximum time between the two writers' reports of one commit.

Synchronised clocks differ by seconds at most, and the sampler takes at most ten (its ``timeout_s``).  This is
shorter than a step of a minute, so a reset found late is in the same step or the next.
"""

CommitChange = Literal["advanced", "reset", "stale"]
"""The commit advanced or stayed; it was reset or removed; or the sample is older than the known commit."""

_SAMPLER, _RECORDER = 0, 1


class CommitOrder:
    """The last commit of each writer, and the writer that has not reported the last reset yet."""

    __slots__ = ("committed", "pending", "since")

    def __init__(self) -> None:
        self.committed = [UNKNOWN, UNKNOWN]  # of the sampler, of the recorder
        self.pending = UNKNOWN  # the writer that has not reported the reset
        self.since = UNKNOWN  # time of the reset

    def observe(self, sample: Sample, known: int, known_since: int) -> CommitChange:
        """Take the next sample with a commit, in the order of times."""
        writer = _RECORDER if sample.end == UNKNOWN else _SAMPLER
        before, self.committed[writer] = self.committed[writer], sample.committed
        was_reset = sample.committed < before
        if self.pending == writer:
            if not was_reset and sample.time - self.since < SLACK:
                return "stale"
            self.pending = UNKNOWN  # this writer has reported the reset, or its time is over
            was_reset = False
        if not was_reset and sample.committed < known:
            if sample.time - known_since < SLACK:
                return "stale"
            was_reset = True
        if not was_reset:
            return "advanced"
        other = _RECORDER - writer
        self.pending = UNKNOWN if self.committed[other] == UNKNOWN else other
        self.since = sample.time
        return "reset"
