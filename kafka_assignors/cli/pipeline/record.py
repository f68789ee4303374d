"""``kafka-assignors record``: records offsets and commits of groups in Parquet."""

from __future__ import annotations

from dataclasses import replace

import click

from kafka_assignors.cli.pipeline.recording import RecordingOptions, recording_command


@click.command("record")
@click.option(
    "--from",
    "source",
    type=click.Choice(["sampler", "offsets-topic", "both"]),
    default="both",
    help="sampler: begin, end and committed offsets, requested from the cluster; offsets-topic: every "
    "commit, read from __consumer_offsets.",
)
@recording_command
def command(recording: RecordingOptions, *, source: str) -> None:
    """Record offsets and commits of groups, for the load model and back-tests.

    With the same folder, recording continues where it ended last time. Members of the groups do not notice.
    """
    options = replace(
        recording.pipeline, sampler=source != "offsets-topic", offsets_topic=source != "sampler"
    )
    recording.run("kafka-assignors record", options)
