"""Estimates a slow peer's time, so that the benchmark skips problems that would take too long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """A peer's seconds for an amount of ``work`` (partitions times members); None: it was ended."""

    work: int
    seconds: float | None


def expected(seen: Seen, work: int) -> float | None:
    """Estimate the seconds for another amount of work, in proportion; None: it was ended."""
    if seen.seconds is None:
        return None if work >= seen.work else 0.0
    return seen.seconds * work / seen.work


class Outlook:
    """Remembers one peer's last problem of each kind and phase.

    Args:
        patience: seconds a call may take.
        in_proportion: whether time goes with the work, within a factor of two.  kafka-python's does; Java's
            jumps up and down with the shape of the problem, so it is left out only where less was too much.
    """

    def __init__(self, patience: float, *, in_proportion: bool) -> None:
        self._patience = patience
        self._in_proportion = in_proportion
        self._seen: dict[tuple[str, str], Seen] = {}

    def hopeless(self, kind: str, phase: str, work: int) -> bool:
        """Whether a problem would take too long, estimated from the last one; never for the first."""
        if (seen := self._seen.get((kind, phase))) is None:
            return False
        seconds = expected(seen, work)
        return seconds is None or (self._in_proportion and seconds > 2 * self._patience)

    def saw(self, kind: str, phase: str, work: int, seconds: float | None) -> None:
        """Remember the seconds of a problem; None: it was ended."""
        self._seen[kind, phase] = Seen(work, seconds)
