"""What is left to read of one partition: KIP-169's arithmetic, and the cases it does not speak of.  Pure.

KIP-169: the lag is ``end - committed``; without a commit it is 0 where ``auto_offset_reset`` is ``latest``,
and the whole log (``end - begin``) where it is anything else.  The rest follows from what a consumer would
do:

- **A commit that is no longer in the log** is as good as none.  The consumer asks for it, is told that it is
  out of range, and starts where ``auto_offset_reset`` says.  That is so below the begin (the log was
  truncated: retention, deleted records) and beyond the end (the topic was deleted and created again, or an
  unclean election lost records).
- A commit *at* the end or *at* the begin is in the log.
- It is never negative, whatever the three numbers are.

Who asks a cluster has to ask for commits first and for ends later.  The other way round a group that makes
progress in between has commits beyond ends that are merely old, and a whole log would count as unread.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["Reset", "begin_matters", "lag"]

Reset = Literal["earliest", "latest"]
"""Where a consumer starts without a valid commit; what is not ``latest`` counts as ``earliest`` (KIP-169)."""


def lag(end: int, committed: int | None, begin: int | None, reset: Reset) -> int:
    """Records left to read.

    Args:
        end: offset of the next record to be written.
        committed: offset of the next record the group would read; None: it never committed, or that expired.
        begin: offset of the oldest record there is.  None only where ``begin_matters`` says that it does not.
        reset: the consumer's ``auto_offset_reset``.

    Returns:
        A number of offsets, 0 or more.  Offsets need not be records: transaction markers and compaction use
        some up.
    """
    first = 0 if begin is None else begin
    if committed is None or not first <= committed <= end:
        committed = end if reset == "latest" else first
    return max(end - committed, 0)


def begin_matters(end: int, committed: int | None, reset: Reset) -> bool:
    """Whether the lag depends on where the log begins, so that it has to be asked for.

    It does not if the group is caught up, if it would start at the end anyway, or if nothing was ever
    written.
    """
    if end <= 0 or committed == end:
        return False
    return reset == "earliest" or (committed is not None and committed < end)
