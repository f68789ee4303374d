"""Computes how near a group is to losing unread records to retention.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

NEAR = 0.2
"""A group is near to losing records of a partition if less than this share of the retention is left."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits by which a broker deletes old records of a partition; None: no limit, or unknown."""

    limit_ms: int | None = None  # the topic's ``retention.ms``
    limit_bytes: int | None = None  # the topic's ``retention.bytes``, which is for each partition
    record_bytes: float | None = None  # mean size of a record of the partition; None: unknown


def share_left(
    retention: Retention, end: int, first_unread: int, record_age_ms: float | None
) -> float | None:
    """Return the share of the retention left before the next unread record may be deleted.

    A broker deletes whole segments, so a record stays a while after its share has become 0.  All records of a
    partition count as equally large.

    Args:
        retention: the partition's limits.
        end: offset of the next record to be written.
        first_unread: offset of the next unread record.
        record_age_ms: age of this record; None: unknown.

    Returns:
        From 0 to 1; None: there is no limit, or the share is unknown.
    """
    shares = []
    if retention.limit_ms is not None and record_age_ms is not None:
        shares.append(_left(record_age_ms, retention.limit_ms))
    if retention.limit_bytes is not None and retention.record_bytes is not None:
        shares.append(_left(retention.record_bytes * (end - first_unread), retention.limit_bytes))
    return min(shares, default=None)


def _left(used: float, limit: float) -> float:
    return max(1.0 - used / limit, 0.0) if limit > 0 else 0.0
