"""``kafka-assignors watch``: a live view of a group in the terminal."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from typing import BinaryIO

import click

from kafka_assignors.cli.common import FiniteRange, client_settings, connection_options, reset_option
from kafka_assignors.cli.watch_group.app import WatchApp
from kafka_assignors.cli.watch_group.source import GroupSource
from kafka_assignors.lag import Reset


@click.command("watch")
@click.argument("group_id", metavar="GROUP")
@connection_options
@reset_option("The group's auto_offset_reset, which a broker does not know.")
@click.option(
    "--interval",
    "interval_s",
    metavar="SECONDS",
    type=FiniteRange(0.2, 3600),
    default=1.0,
    help="Seconds between two looks.",
)
def command(
    *, group_id: str, bootstrap: str | None, config: BinaryIO | None, reset: Reset, interval_s: float
) -> None:
    """Watch a group live: members, partitions, lag, and each rebalance with its cause and its moves.

    Works for any consumer group, of any client.  The command only reads from the cluster; members do not
    notice.
    """
    if not group_id:
        raise click.UsageError("GROUP must not be empty")
    if not _has_terminal():
        raise click.ClickException(
            "watch needs a terminal; without one use `kafka-assignors lag GROUP --watch`"
        )
    with closing(GroupSource(client_settings(bootstrap, config), group_id, reset)) as source:
        WatchApp(source, source.read(), interval_s).run()


def _has_terminal() -> bool:
    streams = (sys.stdin, sys.stdout, sys.stderr)  # Textual draws on stderr
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"
