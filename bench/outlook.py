"""Estimates a slow peer's time, so that the benchmark skips problems that would take too long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """A peer's seconds for an amount of ``work`` (partitions times members); None: the peer was ended."""

    work: int
    seconds: float | None


def expected(seen: Seen, work: int) -> float | None:
    """Estimate the seconds for another amount of work, in proportion; None: the peer would be ended."""
    if seen.seconds is None:
        return None if work >= seen.work else 0.0
    return seen.seconds * work / seen.work


class Outlook:
    """Remembers one peer's last problem of each kind and phase.

    Args:
        patience: seconds a call may take.
        in_proportion: whether time is proportional to the work, within a factor of two, as kafka-python's is.
            Java's is not, so Java skips a problem only if it was ended at one that was no larger.
    """

    def __init__(self, patience: float, *, in_proportion: bool) -> None:
        self._patience = patience
        self._in_proportion = in_proportion
        self._seen: dict[tuple[str, str], Seen] = {}

    def hopeless(self, kind: str, phase: str, work: int) -> bool:
        """Whether a problem would take too long, estimated from the last one; False without a last one."""
        if (seen := self._seen.get((kind, phase))) is None:
            return False
        seconds = expected(seen, work)
        return seconds is None or (self._in_proportion and seconds > 2 * self._patience)

    def saw(self, kind: str, phase: str, work: int, seconds: float | None) -> None:
        """Remember the seconds of a problem; None: the peer was ended."""
        self._seen[kind, phase] = Seen(work, seconds)
