"""``kafka-assignors tasks``: the members of each task of a stateful group, and the lag of their copies."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import BinaryIO

import click

from kafka_assignors.cli.common import client_settings, connection_options, output_option
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.live_group import settled
from kafka_assignors.cli.repeated_report import WatchedReport, show_report, watch_options
from kafka_assignors.cli.tasks.report import TaskReport, task_report
from kafka_assignors.cli.tasks.view import fitted_lines, task_lines


@click.command("tasks")
@click.argument("group_id", metavar="GROUP")
@connection_options
@watch_options("tasks", "task")
@output_option
def command(
    *,
    group_id: str,
    bootstrap: str | None,
    config: BinaryIO | None,
    watch: bool,
    every: float | None,
    everything: bool,
    output: str,
) -> None:
    """Show the members of each task of a stateful group.

    A member is active, a standby or a warm-up.  The number beside a member is the lag of its copy
    (records) at its last join.  The command only reads from the cluster; members do not notice.
    """
    if not group_id:
        raise click.UsageError("GROUP must not be empty")
    with closing(GroupReader(client_settings(bootstrap, config), group_id)) as reader:

        def fetch() -> TaskReport:
            # The broker returns no assignments during a rebalance.
            group = reader.read() if watch else settled(reader.read)
            return task_report(group, datetime.now(timezone.utc).isoformat(timespec="milliseconds"))

        watched = WatchedReport(
            fetch,
            lambda current, timed: task_lines(current, everything=everything, timed=timed),
            fitted_lines,
        )
        show_report(watched, output, watch=watch, every=every)
