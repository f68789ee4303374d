"""How a long step tells its caller where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["OnProgress", "Progress", "silent"]


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a long step.

    Args:
        step: what is being done, in words a person reads ("fetching jars").
        done: units finished so far.
        total: units in all; None when that cannot be known (waiting for a JVM).
    """

    step: str
    done: int = 0
    total: int | None = None


OnProgress = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Drop the report: the default of everything that takes an ``on_progress``."""
