"""Shows a report once or repeatedly: in place on a terminal, one after the other elsewhere."""

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

from kafka_assignors.cli.common import Command, FiniteRange, sigterm_as_interrupt
from kafka_assignors.cli.tables import screen, show
from kafka_assignors.errors import KafkaAssignorsError

INTERVAL_S = 2.0


class JsonReport(Protocol):
    """A report that can be printed as JSON."""

    def as_json(self) -> Mapping[str, Any]:
        """Return the whole report."""


ReportT = TypeVar("ReportT", bound=JsonReport)


@dataclass(frozen=True)
class WatchedReport(Generic[ReportT]):
    """A report that can be fetched repeatedly, and how to draw it."""

    fetch: Callable[[], ReportT]  # raises a KafkaAssignorsError if the cluster does not answer
    lines: Callable[[ReportT, bool], RenderableType]  # draws it without a limit of lines; True: with its time
    fitted: Callable[[ReportT, Console, int], RenderableType]  # draws what fits into a number of lines


def watch_options(rows: str, each_row: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--watch``, ``--every`` and ``--all``.

    Args:
        rows: names the rows of the report, such as ``tasks``.
        each_row: the singular of ``rows``.
    """
    watch = click.option(
        "--watch",
        is_flag=True,
        help=f"Repeat the report until interrupted; on a terminal in place, with as many {rows} as fit.",
    )
    every = click.option(
        "--every",
        metavar="SECONDS",
        type=FiniteRange(0.1, 86_400),
        help=f"With --watch: seconds between two reports.  [default: {INTERVAL_S:g}]",
    )
    everything = click.option(
        "--all",
        "everything",
        is_flag=True,
        help=f"Show every {each_row} of a large group; --watch on a terminal shows what fits.",
    )

    def add(command: Command) -> Command:
        return watch(every(everything(command)))

    return add


def show_report(watched: WatchedReport[ReportT], output: str, *, watch: bool, every: float | None) -> None:
    """Show the report once, or with ``watch`` until interrupted.  Later reports are retried if they fail.

    Raises:
        KafkaAssignorsError: the first report failed.
        UsageError: ``every`` was given without ``watch``.
    """
    if every is not None and not watch:
        raise click.UsageError("--every needs --watch")
    try:
        if not watch:
            _write(watched, watched.fetch(), output, timed=False)
        else:
            with suppress(KeyboardInterrupt), sigterm_as_interrupt():
                _watch(watched, every or INTERVAL_S, output)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def live_frames(
    reports: Iterable[ReportT | KafkaAssignorsError],
    fitted: Callable[[ReportT, Console, int], RenderableType],
    console: Console,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[RenderableType]:
    """Yield a screen for each report.  While reports fail, show the error above the last figures."""
    last: tuple[ReportT, float] | None = None
    for report in reports:
        if not isinstance(report, KafkaAssignorsError):
            last = report, clock()
            yield fitted(report, console, console.height)
        elif last is not None:
            last_report, last_s = last
            error = Text(f"{report}; the figures below are {clock() - last_s:.0f} s old", style="red")
            used = len(console.render_lines(error, pad=False))
            yield Lines(error, fitted(last_report, console, console.height - used))


def _watch(watched: WatchedReport[ReportT], every_s: float, output: str) -> None:
    console = screen()
    reports = _reports(watched.fetch, every_s)
    if output == "table" and console.is_terminal:
        with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            for lines in live_frames(reports, watched.fitted, console):
                live.update(lines, refresh=True)
        return
    for number, report in enumerate(reports):
        if isinstance(report, KafkaAssignorsError):
            click.echo(f"note: {report}", err=True)
            continue
        if number and output == "table":
            click.echo()
        _write(watched, report, output, timed=True)
        sys.stdout.flush()


def _write(watched: WatchedReport[ReportT], report: ReportT, output: str, *, timed: bool) -> None:
    if output == "json":
        click.echo(json.dumps(report.as_json()))
    else:
        show(watched.lines(report, timed))


def _reports(fetch: Callable[[], ReportT], every_s: float) -> Iterator[ReportT | KafkaAssignorsError]:
    yield fetch()
    while True:
        time.sleep(every_s)
        try:
            yield fetch()
        except KafkaAssignorsError as error:
            yield error
