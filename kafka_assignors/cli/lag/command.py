"""``kafka-assignors lag``: the lag of a group, once or repeatedly."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import BinaryIO

import click

from kafka_assignors.cli.common import client_settings, connection_options
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.lag.report import Report, owners, report
from kafka_assignors.cli.lag.view import lag_lines, watched_lines
from kafka_assignors.cli.watch import WatchedReport, show_report, watch_options
from kafka_assignors.lag import LagFetcher, Reset

FETCH_MS = 10_000


@click.command("lag")
@click.argument("group_id", metavar="GROUP")
@connection_options
@click.option(
    "--reset",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="The group's auto_offset_reset, which a broker does not know.  Lag of a partition without a valid "
    "commit: earliest: all its records; latest: none.",
)
@watch_options("members and partitions")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every member and partition of a large group; --watch on a terminal shows what fits.",
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
    """Show the lag of a group.

    Works for any consumer group, of any client, with or without members.  The command only reads from the
    cluster; members do not notice.
    """
    if not group_id:
        raise click.UsageError("GROUP must not be empty")
    settings = client_settings(bootstrap, config)
    with (
        closing(GroupReader(settings, group_id)) as reader,
        closing(LagFetcher(settings, group_id=group_id, auto_offset_reset=reset)) as fetcher,
    ):

        def fetch() -> Report:
            group = reader.read()
            reading = fetcher.fetch(owners(group).keys(), FETCH_MS, all_begins=True)
            return report(
                group, reading, reset, datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            )

        watched = WatchedReport(
            fetch,
            lambda current, timed: lag_lines(current, everything=everything, timed=timed),
            watched_lines,
        )
        show_report(watched, output, watch=watch, every=every)
