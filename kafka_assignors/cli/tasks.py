"""``kafka-assignors tasks``: which member of a stateful group has which task, and how far its copy is."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import BinaryIO

import click

from kafka_assignors.cli.given import connection_options, given_settings
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.tables import show
from kafka_assignors.cli.task_report import task_report
from kafka_assignors.cli.task_view import task_lines

__all__ = ["command"]


@click.command("tasks")
@click.argument("group_id", metavar="GROUP")
@connection_options
@click.option("--all", "everything", is_flag=True, help="Show every task of a large group.")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *, group_id: str, bootstrap: str | None, config: BinaryIO | None, everything: bool, output: str
) -> None:
    """Show which member of a stateful group has which task.

    Active, as a standby or as a warm-up, with the records its copy lacked when the member joined last.  The
    cluster is only asked: no member notices.
    """
    if not group_id:
        raise click.UsageError("GROUP needs a name")
    reader = GroupReader(given_settings(bootstrap, config), group_id)
    try:
        found = task_report(reader.read(), datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    finally:
        reader.close()
    if output == "json":
        click.echo(json.dumps(found.as_json()))
    else:
        show(task_lines(found, everything=everything))
