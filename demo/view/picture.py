"""Pure: the picture of a scene that views draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["starting", "running", "left", "killed"]


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member at this moment; lag in records, rate in records/s, copies of other members' tasks."""

    name: str
    pid: int
    state: State
    partitions: tuple[int, ...]
    copies: int
    lag: int
    rate: float


@dataclass(frozen=True, slots=True)
class Picture:
    """The progress of one long job."""

    title: str
    steps: tuple[str, ...]  # in order
    now: int  # index of the current step; all steps are done if there is none of that index
    state: str = ""  # of the current step
    done: int = 0  # units of it
    total: int | None = None  # None: unknown
    unit: str = ""  # of both, with a space before it; empty for records
    members: tuple[MemberView, ...] = ()

    @property
    def count(self) -> str:
        """Done and total."""
        return "" if self.total is None else f"{self.done:,} of {self.total:,}{self.unit}"

    @property
    def line(self) -> str:
        """The picture as one line."""
        if self.now >= len(self.steps):
            return f"{self.title}: done"
        state = f" ({self.state})" if self.state else ""
        return f"{self.title}: {self.steps[self.now]}{state}" + (f", {self.count}" if self.count else "")
