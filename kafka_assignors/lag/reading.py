"""The results of a fetch: lags and offsets, or timestamps of records, with reasons for missing ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_assignors.lag.arithmetic import Reset, age_ms, first_unread
from kafka_assignors.plan import TopicPartition


@dataclass(frozen=True, slots=True)
class Offsets:
    """Begin and end of a partition's log, and the group's commit.

    Attributes:
        begin: offset of the oldest record; None: not fetched, because the lag does not depend on it.
        end: offset of the next record to be written.
        committed: offset of the next record the group would read; None: no commit.
    """

    begin: int | None
    end: int
    committed: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The lags of one fetch.  A requested partition is in ``lags`` and ``offsets``, or in ``missing``.

    Attributes:
        lags: records left to read.
        offsets: the offsets behind each lag.
        missing: why a lag is unknown, in a few words for the user; never a secret.
    """

    lags: Mapping[TopicPartition, int]
    offsets: Mapping[TopicPartition, Offsets]
    missing: Mapping[TopicPartition, str]


class ReadPosition(NamedTuple):
    """An offset of a partition, such as the commit of a group.

    Results for several groups have positions as keys, because groups read a partition at different offsets.
    """

    tp: TopicPartition
    offset: int


def next_unread(tp: TopicPartition, offsets: Offsets, reset: Reset) -> ReadPosition | None:
    """Return where the group reads next; None: no record is left to read."""
    offset = first_unread(offsets.end, offsets.committed, offsets.begin, reset)
    return None if offset is None else ReadPosition(tp, offset)


@dataclass(frozen=True, slots=True)
class OldestUnread:
    """The timestamps of the first records at or after positions.

    A requested position is in ``timestamps`` or in ``missing``.

    Attributes:
        timestamps: milliseconds since 1970; None: no record follows, only markers or gaps.
        missing: why a timestamp is unknown, in a few words for the user; never a secret.
    """

    timestamps: Mapping[ReadPosition, int | None]
    missing: Mapping[ReadPosition, str]

    def age_s(self, position: ReadPosition | None, now_ms: float) -> float | None:
        """Return the age of the first record in seconds; 0: there is none; None: it is unknown.

        Args:
            position: where the group reads next; None: no record is left to read.
            now_ms: milliseconds since 1970.
        """
        if position is not None and position not in self.timestamps:
            return None
        timestamp = None if position is None else self.timestamps[position]
        return 0.0 if timestamp is None else age_ms(timestamp, now_ms) / 1000
