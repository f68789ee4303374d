"""``kafka-assignors lag``: how much a group has left to read, once or continually."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import BinaryIO

import click

from kafka_assignors.cli.given import connection_options, given_settings
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.lag.report import Report, owners, report
from kafka_assignors.cli.lag.view import lag_lines, watched_lines
from kafka_assignors.cli.looking import Looking, look_and_show, watch_options
from kafka_assignors.lag import LagFetcher, Reset

__all__ = ["command"]

FETCH_MS = 10_000


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
@watch_options("members and partitions")
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
    if not group_id:
        raise click.UsageError("GROUP needs a name")
    settings = given_settings(bootstrap, config)
    with (
        closing(GroupReader(settings, group_id)) as reader,
        closing(LagFetcher(settings, group_id=group_id, auto_offset_reset=reset)) as fetcher,
    ):

        def look() -> Report:
            group = reader.read()
            reading = fetcher.fetch(owners(group).keys(), FETCH_MS, all_begins=True)
            return report(
                group, reading, reset, datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            )

        looking = Looking(
            look, lambda found, timed: lag_lines(found, everything=everything, timed=timed), watched_lines
        )
        look_and_show(looking, output, watch=watch, every=every)
