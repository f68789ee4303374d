"""``kafka-assignors record``: what groups do, as samples in Parquet."""

from __future__ import annotations

from dataclasses import replace

import click

from kafka_assignors.cli.pipeline.recording import Recording, recording_command
from kafka_assignors.pipeline.run import record

__all__ = ["command"]


@click.command("record")
@click.option(
    "--from",
    "source",
    type=click.Choice(["sampler", "offsets-topic", "both"]),
    default="both",
    show_default=True,
    help="sampler: ask the cluster for begin, end and committed offsets; offsets-topic: every commit, as the "
    "broker keeps it in __consumer_offsets.",
)
@recording_command
def command(recording: Recording, *, source: str) -> None:
    """Record what groups do, for the load model and back-tests.

    It goes on where it ended the last time, if the folder is the same. No member of a group notices.
    """
    wanted = replace(recording.wanted, sampler=source != "offsets-topic", offsets_topic=source != "sampler")
    recording.run("kafka-assignors record", record, wanted)
