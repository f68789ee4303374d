"""Tells whether a sample advances a group's committed offset, shows its reset, or is stale.  Pure.

Two writers with two clocks report the committed offset of a partition.  The *sampler* reads it before the end
offset, and its samples have the time of the end offset.  The *recorder* reads commit records, without
end offsets.  Its samples have the broker's time of the commit.  So in the order of times, one writer may
report an older commit than the other has reported already.  Each writer alone reports commits in the order in
which they were made.

- The group's commit was reset if a writer reports a lower commit than it reported before.
- The other writer then has `SLACK` to report the reset.  Until it does, its samples are stale.
- A commit that is lower only than the *other* writer's is stale within `SLACK` of that commit.  Later, it is
  a reset.
"""

from __future__ import annotations

from typing import Literal

from kafka_assignors.forecast.samples import UNKNOWN, Sample
from kafka_assignors.forecast.settings import SECOND

SLACK = 30 * SECOND
"""Maximum time between the two writers' reports of one commit, microseconds.

Synchronised clocks differ by seconds at most.  By default the sampler fetches a group's offsets within ten
seconds.  `SLACK` is shorter than a step of a minute, so a reset found late is in the same step or the next.
"""

CommitChange = Literal["advanced", "reset", "stale"]
"""``advanced``: the commit advanced or stayed.  ``reset``: it was reset or removed.

``stale``: the sample's commit was made before the known one."""

_SAMPLER, _RECORDER = 0, 1


class CommitOrder:
    """The last commit of each writer, and the writer that has not reported the last reset yet."""

    __slots__ = ("committed", "pending", "since")

    def __init__(self) -> None:
        self.committed = [UNKNOWN, UNKNOWN]  # of the sampler, of the recorder
        self.pending = UNKNOWN  # the writer that has not reported the last reset; `UNKNOWN`: none
        self.since = UNKNOWN  # time of the last reset

    def observe(self, sample: Sample, known: int, known_since: int) -> CommitChange:
        """Take the next sample in the order of times, and return how it changes the group's commit.

        Args:
            sample: a sample whose ``committed`` is not ``UNKNOWN``.
            known: the group's commit so far, from either writer.
            known_since: time of the sample that reported ``known``.
        """
        writer = _RECORDER if sample.end == UNKNOWN else _SAMPLER
        before, self.committed[writer] = self.committed[writer], sample.committed
        was_reset = sample.committed < before
        if self.pending == writer:
            if not was_reset and sample.time - self.since < SLACK:
                return "stale"
            self.pending = UNKNOWN  # this writer has reported the reset, or `SLACK` is over
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
