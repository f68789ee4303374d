"""Samples of a partition, their counts, and the position of a group in the partition.  Pure."""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.forecast.settings import SECOND, Reset

UNKNOWN = -2
"""Stands for an unknown offset or time.  It is a number, so samples can be sorted and encoded."""

NO_COMMIT = -1
"""Stands for a missing committed offset: the group never committed, or its commit was removed."""

AHEAD = 60 * SECOND
"""A sample may be ahead of the current time by this much (microseconds), or by ``delay`` if that is longer.

Synchronised clocks differ by less.  After a clock that was ahead is corrected, its samples are late until
they are newer than those taken before the correction.  If the clock was ahead by n seconds, that takes at
most n seconds.
"""


class Sample(NamedTuple):
    """Offsets of one partition of one group at one time.  An offset that was not read is ``UNKNOWN``.

    Samples are ordered by time, then by offsets, so their order does not depend on their arrival.
    """

    time: int  # microseconds since 1970
    begin: int  # first offset of the log
    end: int  # offset of the next record to be written
    committed: int  # offset of the next record to be read, or `NO_COMMIT`


class SampleCounts(NamedTuple):
    """Counts of the samples given to `Bucket.take`."""

    samples: int  # all, the dropped ones included
    late: int  # dropped, because `take` had already taken a newer sample of the partition
    duplicates: int  # dropped
    ahead: int = 0  # dropped, because their time is too far ahead of the current time


def position(begin: int, end: int, committed: int, reset: Reset) -> int:
    """Return the offset that the group reads next; ``UNKNOWN`` if the group starts at an unknown one.

    A commit outside of the log counts as none: the fetch fails as out of range, and the consumer starts at
    ``reset`` (as in ``kafka_assignors.lag``).  While ``begin`` or ``end`` is unknown, no commit counts as
    outside on that side.
    """
    if committed != NO_COMMIT and committed >= begin and (end == UNKNOWN or committed <= end):
        return committed
    return begin if reset == "earliest" else end
