"""``kafka-assignors lag``: how much a group has left to read, once or continually."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from typing import BinaryIO

import click
from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.live import Live
from rich.text import Text

from kafka_assignors.cli.given import connection_options, given_settings, terminated_like_interrupted
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.lag_report import Report, owners, report
from kafka_assignors.cli.lag_view import lag_lines, watched_lines
from kafka_assignors.cli.tables import show
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher, Reset

__all__ = ["command"]

FETCH_MS = 10_000
EVERY_S = 2.0


@click.command("lag")
@click.argument("group_id", metavar="GROUP")
@connection_options
@click.option(
    "--reset",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="The group's auto_offset_reset, which a broker does not know: what counts where there is no valid "
    "commit.  earliest: all there is; latest: nothing.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Look again and again until interrupted; on a terminal in place, with as many members and "
    "partitions as fit.",
)
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 86_400),
    help=f"With --watch: how long to wait between two looks.  [default: {EVERY_S:g}]",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every member and partition of a large group; what is watched on a terminal shows what fits.",
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *,
    group_id: str,
    bootstrap: str | None,
    config: BinaryIO | None,
    reset: Reset,
    watch: bool,
    every: float | None,
    everything: bool,
    output: str,
) -> None:
    """Show how much a group has left to read.

    Any group will do, whoever runs it, with members or without.  The cluster is only asked: no member
    notices.
    """
    for wrong, says in (
        (not group_id, "GROUP needs a name"),
        (every is not None and not watch, "--every goes with --watch"),
    ):
        if wrong:
            raise click.UsageError(says)
    settings = given_settings(bootstrap, config)
    reader, fetcher = (
        GroupReader(settings, group_id),
        LagFetcher(settings, group_id=group_id, auto_offset_reset=reset),
    )

    def look() -> Report:
        group = reader.read()
        reading = fetcher.fetch(owners(group).keys(), FETCH_MS, all_begins=True)
        return report(group, reading, reset, datetime.now(timezone.utc).isoformat(timespec="milliseconds"))

    try:
        if not watch:
            _write(look(), output, everything=everything, timed=False)
        else:
            with suppress(KeyboardInterrupt), terminated_like_interrupted():
                _watch(look, every or EVERY_S, output, everything=everything)
    except BrokenPipeError:  # whoever read this has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        fetcher.close()
        reader.close()


def _write(found: Report, output: str, *, everything: bool, timed: bool) -> None:
    if output == "json":
        click.echo(json.dumps(found.as_json()))
    else:
        show(lag_lines(found, everything=everything, timed=timed))


def _watch(look: Callable[[], Report], every_s: float, output: str, *, everything: bool) -> None:
    """Look and show until interrupted.  Only the first look may fail; what fails later is tried again."""
    console = Console(highlight=False)
    if output == "table" and console.is_terminal:
        with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            for lines in _in_place(_looks(look, every_s), console):
                live.update(lines, refresh=True)
        return
    for number, found in enumerate(_looks(look, every_s)):
        if isinstance(found, KafkaAssignorsError):
            click.echo(f"note: {found}", err=True)
            continue
        if number and output == "table":
            click.echo()
        _write(found, output, everything=everything, timed=True)
        sys.stdout.flush()


def _in_place(
    looks: Iterable[Report | KafkaAssignorsError],
    console: Console,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[RenderableType]:
    """What a terminal shows after each look; while looks fail that, how old the figures are, and them."""
    last: tuple[Report, float] | None = None
    for found in looks:
        if isinstance(found, Report):
            last = found, clock()
            yield watched_lines(found, console, console.height)
        elif last is not None:
            shown, at = last
            error = Text(f"{found}; the figures below are {clock() - at:.0f} s old", style="red")
            used = len(console.render_lines(error, pad=False))
            yield Lines(error, watched_lines(shown, console, console.height - used))


def _looks(look: Callable[[], Report], every_s: float) -> Iterator[Report | KafkaAssignorsError]:
    yield look()
    while True:
        time.sleep(every_s)
        try:
            yield look()
        except KafkaAssignorsError as error:
            yield error
