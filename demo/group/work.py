"""How far a long job is whose steps are known: what the views are told of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """A picture of this moment.

    Args:
        name: of the job.
        steps: what it does, in order.
        now: the step that goes on, from 0; all are done when there is none of that number.
        said: what the step is at; may be empty.
        done: how much of the step is done.
        total: of how much; None: nobody knows.
    """

    name: str
    steps: tuple[str, ...]
    now: int
    said: str = ""
    done: int = 0
    total: int | None = None

    @property
    def line(self) -> str:
        """One line of it."""
        if self.now >= len(self.steps):
            return f"{self.name}: done"
        part = "" if self.total is None else f", {self.done:,} of {self.total:,}"
        said = f" ({self.said})" if self.said else ""
        return f"{self.name}: {self.steps[self.now]}{said}{part}"
