"""The lines that a command prints to a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, RenderableType


def printed(
    lines: RenderableType | Callable[[Console], RenderableType], *, width: int = 80, height: int = 24
) -> list[str]:
    """Return the lines on a terminal of this size, without spaces at their ends."""
    console = Console(width=width, height=height, highlight=False, color_system=None)
    with console.capture() as captured:
        console.print(lines(console) if callable(lines) else lines)
    return [line.rstrip() for line in captured.get().splitlines()]
