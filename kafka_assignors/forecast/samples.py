"""One look at a partition, and where a group stands in it.  Pure."""

from __future__ import annotations

from typing import NamedTuple

from kafka_assignors.forecast.settings import Reset

__all__ = ["NO_COMMIT", "UNKNOWN", "Sample", "plausible", "position"]

UNKNOWN = -2
"""Instead of an offset or a time that is not known.  A number, so that samples sort and pack."""

NO_COMMIT = -1
"""Instead of a committed offset: the group has none, or none any more."""


class Sample(NamedTuple):
    """What was seen of one partition of one group; what the writer cannot know is ``UNKNOWN``.

    Samples are ordered by time, then by what they say, so that their order never depends on their arrival.
    """

    time: int  # microseconds since 1970
    begin: int
    end: int
    committed: int


def plausible(sample: Sample) -> Sample:
    """The sample without numbers that no offset can be."""
    begin, end = (offset if offset >= 0 else UNKNOWN for offset in sample[1:3])
    committed = sample.committed if sample.committed >= NO_COMMIT else UNKNOWN
    return Sample(sample.time, begin, end, committed)


def position(begin: int, end: int, committed: int, reset: Reset) -> int:
    """Offset of the next record the group will read; ``UNKNOWN`` if that depends on what is not known.

    A commit outside of the log is as good as none: the consumer is told that it is out of range, and starts
    where ``reset`` says (as in ``kafka_assignors.lag``).
    """
    if committed != NO_COMMIT and committed >= begin and (end == UNKNOWN or committed <= end):
        return committed
    return begin if reset == "earliest" else end
