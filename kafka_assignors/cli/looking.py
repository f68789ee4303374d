"""What is looked at once, or again and again: shown in place on a terminal, one after the other elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import click
from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.live import Live
from rich.text import Text

from kafka_assignors.cli.given import terminated_like_interrupted
from kafka_assignors.cli.tables import show
from kafka_assignors.errors import KafkaAssignorsError

__all__ = ["EVERY_S", "Looking", "look_and_show", "watch_options"]

EVERY_S = 2.0

Command = TypeVar("Command", bound=Callable[..., Any])


class Shown(Protocol):
    """What a look finds."""

    def as_json(self) -> Mapping[str, Any]:
        """Whole."""


FoundT = TypeVar("FoundT", bound=Shown)


@dataclass(frozen=True)
class Looking(Generic[FoundT]):
    """What is looked at, and how it is shown.

    Attributes:
        look: finds it; raises a KafkaAssignorsError where it cannot be had.
        lines: all of it, with the time if it is watched.
        fitted: as much of it as fits into so many lines of a terminal.
    """

    look: Callable[[], FoundT]
    lines: Callable[[FoundT, bool], RenderableType]
    fitted: Callable[[FoundT, Console, int], RenderableType]


def watch_options(what: str) -> Callable[[Command], Command]:
    """``--watch`` and ``--every``; ``what`` is shown in place as far as it fits."""

    def add(command: Command) -> Command:
        every = click.option(
            "--every",
            metavar="SECONDS",
            type=click.FloatRange(0.1, 86_400),
            help=f"With --watch: how long to wait between two looks.  [default: {EVERY_S:g}]",
        )
        watch = click.option(
            "--watch",
            is_flag=True,
            help="Look again and again until interrupted; on a terminal in place, with "
            f"as many {what} as fit.",
        )
        return watch(every(command))

    return add


def look_and_show(looking: Looking[FoundT], output: str, *, watch: bool, every: float | None) -> None:
    """Look once, or until interrupted; only the first look may fail then, what fails later is tried again.

    Raises:
        KafkaAssignorsError: the first look failed.
        UsageError: ``every`` without ``watch``.
    """
    if every is not None and not watch:
        raise click.UsageError("--every goes with --watch")
    try:
        if not watch:
            _write(looking, looking.look(), output, timed=False)
        else:
            with suppress(KeyboardInterrupt), terminated_like_interrupted():
                _watch(looking, every or EVERY_S, output)
    except BrokenPipeError:  # whoever read this has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def in_place(
    looks: Iterable[FoundT | KafkaAssignorsError],
    fitted: Callable[[FoundT, Console, int], RenderableType],
    console: Console,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[RenderableType]:
    """What a terminal shows after each look; while looks fail that, how old the figures are, and them."""
    last: tuple[FoundT, float] | None = None
    for found in looks:
        if not isinstance(found, KafkaAssignorsError):
            last = found, clock()
            yield fitted(found, console, console.height)
        elif last is not None:
            shown, at = last
            error = Text(f"{found}; the figures below are {clock() - at:.0f} s old", style="red")
            used = len(console.render_lines(error, pad=False))
            yield Lines(error, fitted(shown, console, console.height - used))


def _watch(looking: Looking[FoundT], every_s: float, output: str) -> None:
    console = Console(highlight=False)
    looks = _looks(looking.look, every_s)
    if output == "table" and console.is_terminal:
        with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            for lines in in_place(looks, looking.fitted, console):
                live.update(lines, refresh=True)
        return
    for number, found in enumerate(looks):
        if isinstance(found, KafkaAssignorsError):
            click.echo(f"note: {found}", err=True)
            continue
        if number and output == "table":
            click.echo()
        _write(looking, found, output, timed=True)
        sys.stdout.flush()


def _write(looking: Looking[FoundT], found: FoundT, output: str, *, timed: bool) -> None:
    if output == "json":
        click.echo(json.dumps(found.as_json()))
    else:
        show(looking.lines(found, timed))


def _looks(look: Callable[[], FoundT], every_s: float) -> Iterator[FoundT | KafkaAssignorsError]:
    yield look()
    while True:
        time.sleep(every_s)
        try:
            yield look()
        except KafkaAssignorsError as error:
            yield error
