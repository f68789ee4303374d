"""The rows of a result table: what a figure is called, how it is written, what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["ResultT", "Row", "seconds"]

ResultT = TypeVar("ResultT", bound=Mapping[str, object])
"""The result of a run; ``strategy`` is the name of what ran."""


@dataclass(frozen=True, slots=True)
class Row(Generic[ResultT]):
    """One figure of a run.

    Args:
        label: what it is.
        show: how it is written.
        meaning: one sentence that defines it.
        brief: what it is where there is little room; empty, where it is left out there.
    """

    label: str
    show: Callable[[ResultT], str]
    meaning: str
    brief: str = ""


def seconds(value: float | None, digits: int = 2) -> str:
    """Write a time; ``-`` where there was nothing to measure."""
    return "-" if value is None else f"{value:.{digits}f} s"
