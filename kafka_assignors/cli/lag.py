"""``kafka-assignors lag``: how much a group has left to read, once or continually."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import BinaryIO

import click
from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.live import Live
from rich.text import Text

from kafka_assignors.cli.given import given_settings
from kafka_assignors.cli.group_state import GroupReader
from kafka_assignors.cli.lag_report import Report, owners, report
from kafka_assignors.cli.lag_view import lag_lines
from kafka_assignors.cli.tables import show
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher, Reset

__all__ = ["command"]

FETCH_MS = 10_000
EVERY_S = 2.0


@click.command("lag")
@click.argument("group_id", metavar="GROUP")
@click.option("--bootstrap", metavar="HOST:PORT", help="A broker of the group's cluster.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.File("rb"),
    help="Properties of the connection; security settings and secrets go here (or into the environment).",
)
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
    metavar="[SECONDS]",
    type=click.FloatRange(0.1, 86_400),
    is_flag=False,
    flag_value=EVERY_S,
    help=f"Look again every so many seconds ({EVERY_S:g} if not given) until interrupted.",
)
@click.option("--all", "everything", is_flag=True, help="Show every member and partition of a large group.")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *,
    group_id: str,
    bootstrap: str | None,
    config: BinaryIO | None,
    reset: Reset,
    watch: float | None,
    everything: bool,
    output: str,
) -> None:
    """Show how much a group has left to read.

    Any group will do, whoever runs it, with members or without.  The cluster is only asked: no member
    notices.
    """
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
        if watch is None:
            _write(look(), output, everything=everything)
        else:
            with suppress(KeyboardInterrupt), _terminated_like_interrupted():
                _watch(look, watch, output, everything=everything)
    except BrokenPipeError:  # whoever read this has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        fetcher.close()
        reader.close()


def _write(found: Report, output: str, *, everything: bool) -> None:
    if output == "json":
        click.echo(json.dumps(found.as_json()))
    else:
        show(lag_lines(found, everything=everything))


def _watch(look: Callable[[], Report], every_s: float, output: str, *, everything: bool) -> None:
    """Look and show until interrupted.  Only the first look may fail; what fails later is tried again."""
    console = Console(highlight=False)
    if output == "table" and console.is_terminal:
        with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
            last: RenderableType = ""
            for found in _looks(look, every_s):
                if isinstance(found, KafkaAssignorsError):
                    live.update(Lines(last, Text(f"\n{found}", style="red")), refresh=True)
                else:
                    last = lag_lines(found, everything=everything, height=console.height)
                    live.update(last, refresh=True)
        return
    for number, found in enumerate(_looks(look, every_s)):
        if isinstance(found, KafkaAssignorsError):
            click.echo(f"note: {found}", err=True)
            continue
        if number and output == "table":
            click.echo()
        _write(found, output, everything=everything)
        sys.stdout.flush()


def _looks(look: Callable[[], Report], every_s: float) -> Iterator[Report | KafkaAssignorsError]:
    yield look()
    while True:
        time.sleep(every_s)
        try:
            yield look()
        except KafkaAssignorsError as error:
            yield error


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends a watch as Ctrl-C does: tidily."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
