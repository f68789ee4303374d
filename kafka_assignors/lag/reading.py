"""What a look at the cluster brought: lags, the offsets they come from, and why others could not be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_assignors.plan import TopicPartition

__all__ = ["Offsets", "Reading"]


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where a partition's log begins and ends, and how far a group is.

    Attributes:
        begin: offset of the oldest record; None: it was not asked for, because the lag does not depend on it.
        end: offset of the next record to be written.
        committed: offset of the next record the group would read; None: it has no commit.
    """

    begin: int | None
    end: int
    committed: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The lags of one look.  Each partition asked for is in ``lags`` and ``offsets``, or else in ``missing``.

    Attributes:
        lags: records left to read.
        offsets: what the lags were made of.
        missing: why there is no lag: a few words for a log or a terminal, never a secret.
    """

    lags: Mapping[TopicPartition, int]
    offsets: Mapping[TopicPartition, Offsets]
    missing: Mapping[TopicPartition, str]
