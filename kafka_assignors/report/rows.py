"""The rows of a result table: label, format and meaning of each figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

ResultT = TypeVar("ResultT", bound=Mapping[str, object])
"""The result of a run.  Its key ``strategy`` holds the strategy's name."""


@dataclass(frozen=True, slots=True)
class Row(Generic[ResultT]):
    """One figure of a run."""

    label: str
    show: Callable[[ResultT], str]  # formats the figure
    meaning: str  # one sentence that defines it
    brief: str = ""  # short name for narrow tables, which omit the figure if it is empty


def in_seconds(value: float | None, digits: int = 2) -> str:
    """Return a time as text; ``-`` for None."""
    return "-" if value is None else f"{value:.{digits}f} s"
