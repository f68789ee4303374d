"""``kafka-assignors tasks``: which member of a stateful group has which task, and how far its copy is."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from typing import BinaryIO

import click

from kafka_assignors.cli.given import connection_options, given_settings
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.looking import Looking, look_and_show, watch_options
from kafka_assignors.cli.tasks.report import TaskReport, task_report
from kafka_assignors.cli.tasks.view import fitted_lines, task_lines

__all__ = ["command"]


@click.command("tasks")
@click.argument("group_id", metavar="GROUP")
@connection_options
@watch_options("tasks")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every task of a large group; what is watched on a terminal shows what fits.",
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
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
    """Show which member of a stateful group has which task.

    Active, as a standby or as a warm-up, with the records its copy lacked when the member joined last.  The
    cluster is only asked: no member notices.
    """
    if not group_id:
        raise click.UsageError("GROUP needs a name")
    with closing(GroupReader(given_settings(bootstrap, config), group_id)) as reader:

        def look() -> TaskReport:
            return task_report(reader.read(), datetime.now(timezone.utc).isoformat(timespec="milliseconds"))

        looking = Looking(
            look, lambda found, timed: task_lines(found, everything=everything, timed=timed), fitted_lines
        )
        look_and_show(looking, output, watch=watch, every=every)
