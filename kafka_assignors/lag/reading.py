"""The result of one fetch: lags, the offsets they come from, and reasons for missing lags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
        missing: why a lag is unknown: a few words for a log or a terminal, never a secret.
    """

    lags: Mapping[TopicPartition, int]
    offsets: Mapping[TopicPartition, Offsets]
    missing: Mapping[TopicPartition, str]
