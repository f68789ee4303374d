"""What a slow peer would need, so that nobody waits for a figure that will not come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """What a peer needed for that much ``work`` (partitions times members); None: more than our patience."""

    work: int
    seconds: float | None


def expected(seen: Seen, work: int) -> float | None:
    """Seconds for another amount of work, in proportion; None: more than our patience."""
    if seen.seconds is None:
        return None if work >= seen.work else 0.0
    return seen.seconds * work / seen.work


class Outlook:
    """Remembers, for one peer and by kind of problem and phase, how the last problem went.

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
        """Whether it would take too long, going by the last one; the first is always tried."""
        if (seen := self._seen.get((kind, phase))) is None:
            return False
        seconds = expected(seen, work)
        return seconds is None or (self._in_proportion and seconds > 2 * self._patience)

    def saw(self, kind: str, phase: str, work: int, seconds: float | None) -> None:
        """Remember how long it took; None: it was ended."""
        self._seen[kind, phase] = Seen(work, seconds)
