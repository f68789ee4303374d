"""Estimates a slow peer's time, so that the benchmark skips problems that would take too long."""

from __future__ import annotations


class Outlook:
    """Remembers one peer's last problem of each kind and phase.

    Args:
        patience: seconds a call may take.
        in_proportion: whether time is proportional to the work, within a factor of two, as kafka-python's is.
            Java's is not, so Java skips a problem only if Java was ended at a problem that was no larger.
    """

    def __init__(self, patience: float, *, in_proportion: bool) -> None:
        self._patience = patience
        self._in_proportion = in_proportion
        self._last: dict[tuple[str, str], tuple[int, float | None]] = {}  # work, and its seconds

    def hopeless(self, kind: str, phase: str, work: int) -> bool:
        """Whether a problem would take too long, estimated from the last one; False without a last one.

        The work of a problem is its partitions times its members.
        """
        if (kind, phase) not in self._last:
            return False
        last_work, seconds = self._last[kind, phase]
        if seconds is None:  # the peer was ended
            return work >= last_work
        return self._in_proportion and seconds * work / last_work > 2 * self._patience

    def saw(self, kind: str, phase: str, work: int, seconds: float | None) -> None:
        """Remember the seconds of a problem; None: the peer was ended."""
        self._last[kind, phase] = work, seconds
