"""``kafka-assignors record``: what groups do, as samples in Parquet."""

from __future__ import annotations

import json
from typing import BinaryIO

import click

from kafka_assignors.cli.given import connection_options, given_settings
from kafka_assignors.cli.recording import View, as_json, lines, recording_options, stopping
from kafka_assignors.errors import OptionError
from kafka_assignors.spark.pipeline import Wanted, record
from kafka_assignors.spark.session import session

__all__ = ["command"]


@click.command("record")
@click.argument("groups", metavar="[GROUP]...", nargs=-1)
@connection_options
@click.option(
    "--from",
    "source",
    type=click.Choice(["sampler", "offsets-topic", "both"]),
    default="both",
    show_default=True,
    help="sampler: ask the cluster for begin, end and committed offsets; offsets-topic: every commit, as the "
    "broker keeps it in __consumer_offsets.",
)
@recording_options
def command(
    *,
    groups: tuple[str, ...],
    bootstrap: str | None,
    config: BinaryIO | None,
    source: str,
    groups_like: str | None,
    root: str,
    every_s: float,
    for_s: float | None,
    once: bool,
    cores: int | None,
    output: str,
) -> None:
    """Record what groups do, for the load model and back-tests.

    It goes on where it ended the last time, if the folder is the same. No member of a group notices.
    """
    wanted = given(
        groups,
        groups_like,
        root,
        bootstrap,
        config,
        every_s=every_s,
        sampler=source != "offsets-topic",
        offsets_topic=source != "sampler",
    )
    with (
        stopping(for_s) as stop,
        View() as view,
        session("kafka-assignors record", cores=cores, on_progress=view.step) as spark,
    ):
        try:
            report = record(spark, wanted, stop=None if once else stop, on_report=view.report)
        except OptionError as error:
            raise click.UsageError(f"{error.option}: {error.reason}") from error
    if output == "json":
        click.echo(json.dumps(as_json(report, root)))
    else:
        click.echo("\n".join(lines(report)))


def given(
    groups: tuple[str, ...],
    groups_like: str | None,
    root: str,
    bootstrap: str | None,
    config: BinaryIO | None,
    **further: object,
) -> Wanted:
    """What was asked for; no group at all is a usage error."""
    if not groups and groups_like is None:
        raise click.UsageError("which groups? Name some, or give --groups-like REGEX")
    settings = given_settings(bootstrap, config)
    return Wanted(root, settings, groups=groups, groups_like=groups_like, **further)  # type: ignore[arg-type]  # click has checked them
