"""The lag of one partition: KIP-169's arithmetic, and the cases it leaves open.  Pure.

KIP-169: the lag is ``end - committed``.  Without a commit it is 0 if ``auto_offset_reset`` is ``latest``, and
otherwise the whole log (``end - begin``).  The other cases follow the consumer:

- **A commit outside the log** counts as none.  The broker answers a fetch from there with "out of range", and
  the consumer starts where ``auto_offset_reset`` says.  A commit falls below the begin of the log when
  records are deleted, by retention or by a user.  It falls beyond the end when the topic is deleted and
  created again, or when an unclean election loses records.
- A commit *at* the end or *at* the begin is in the log.
- The lag is never negative.

A caller must fetch commits before ends.  If it fetched ends first, a group near the end could commit beyond
them in between.  With ``earliest`` the whole log would then count as unread.
"""

from __future__ import annotations

from typing import Literal

Reset = Literal["earliest", "latest"]
"""Where a consumer starts without a valid commit: at the begin or at the end of the log."""


def lag(end: int, committed: int | None, begin: int | None, reset: Reset) -> int:
    """Return the records left to read.

    Args:
        end: offset of the next record to be written.
        committed: offset of the next record the group would read; None: no commit, or an expired one.
        begin: offset of the oldest record.  May be None only if ``begin_matters`` is False.
        reset: the consumer's ``auto_offset_reset``.

    Returns:
        A number of offsets, 0 or more.  Not every offset is a record: transaction markers and compaction
        leave gaps.
    """
    first = 0 if begin is None else begin
    if committed is None or not first <= committed <= end:
        committed = end if reset == "latest" else first
    return max(end - committed, 0)


def begin_matters(end: int, committed: int | None, reset: Reset) -> bool:
    """Whether the lag depends on the begin of the log, so that a caller must fetch it.

    The begin does not matter if the group is caught up or starts at the end, or the log never had a record.
    """
    if end <= 0 or committed == end:
        return False
    return reset == "earliest" or (committed is not None and committed < end)


def first_unread(end: int, committed: int | None, begin: int | None, reset: Reset) -> int | None:
    """Return the offset from which the group would read next; None: no record is left to read.

    Takes the same arguments as ``lag``, and follows the same rules.
    """
    left = lag(end, committed, begin, reset)
    return end - left if left else None


def age_ms(timestamp_ms: int, now_ms: float) -> float:
    """Return the age of a record; 0 if its producer's clock is ahead."""
    return max(now_ms - timestamp_ms, 0.0)
