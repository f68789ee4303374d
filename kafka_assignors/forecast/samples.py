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
they are newer than those taken before the correction.  That takes no longer than the clock was ahead.
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
    late: int  # dropped, because a later sample of the partition was taken before
    duplicates: int  # dropped
    ahead: int = 0  # dropped, because their time is too far ahead of the current time


def position(begin: int, end: int, committed: int, reset: Reset) -> int:
    """Return the offset of the next record the group reads; ``UNKNOWN`` if it depends on an unknown offset.

    A commit outside of the log counts as none: the fetch fails as out of range, and the consumer starts at
    ``reset`` (as in ``kafka_assignors.lag``).
    """
    if committed != NO_COMMIT and committed >= begin and (end == UNKNOWN or committed <= end):
        return committed
    return begin if reset == "earliest" else end
