"""Progress reports of long steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a long step.

    Args:
        step: the step, as text for a person ("fetching jars").
        done: finished units.
        total: all units; None if unknown (waiting for a JVM).
    """

    step: str
    done: int = 0
    total: int | None = None


OnProgress = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore the report; the default of ``on_progress``."""
