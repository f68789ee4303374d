"""``kafka-assignors pipeline``: records groups, runs the load model and writes the feed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from kafka_assignors.cli.common import FiniteRange, as_usage_error, option_as_usage_error, reset_option
from kafka_assignors.cli.pipeline.recording import RecordingOptions, recording_command
from kafka_assignors.cli.plan.forecasts import MAX_AGE_MS
from kafka_assignors.cli.plan.notes import print_notes
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag import Reset
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.pipeline.model.model import FORGET_S
from kafka_assignors.pipeline.run import forecast_age_s

DAY_S = 86_400.0
FEED = "kafka-assignors-load"


@click.group("pipeline")
def command() -> None:
    """Record groups, model their load and publish forecasts for the assignor."""


@command.command("entry")
def entry() -> None:
    """Print the path of the script for spark-submit; a command such as ``pipeline run`` comes after it."""
    click.echo(Path(__file__).with_name("submit.py"))


@command.command("run")
@click.option(
    "--step",
    "step_s",
    metavar="SECONDS",
    type=float,
    default=60.0,
    help="Step of the load model; must divide a quarter of an hour.",
)
@click.option(
    "--horizon",
    "horizon_s",
    metavar="SECONDS",
    type=float,
    default=3600.0,
    help="Horizon of forecasts; a whole number of steps.",
)
@click.option(
    "--delay",
    "delay_s",
    metavar="SECONDS",
    type=float,
    default=105.0,
    help="How long a sample may be behind the newest one of its partition. A step and its forecast are "
    "published by the first batch that is this long after the step's end; consumers ignore forecasts older "
    "than load_max_age_ms (900 s).",
)
@reset_option("The groups' auto_offset_reset, which a broker does not know.")
@click.option(
    "--forget",
    "forget_days",
    metavar="DAYS",
    type=FiniteRange(min=1),
    default=FORGET_S / DAY_S,
    help="The model drops the state of a partition after this time without samples of it.",
)
@click.option(
    "--zone",
    metavar="NAME",
    default="UTC",
    help="Time zone of the days and weeks of the season, for example Europe/Berlin.",
)
@click.option(
    "--feed",
    "feed_topic",
    metavar="TOPIC",
    default=FEED,
    help="Topic for forecasts, read by load_source= of cooperative-lag-aware; created if it is missing.",
)
@click.option("--no-feed", is_flag=True, help="Write no forecasts to a topic.")
@click.option("--no-offsets-topic", is_flag=True, help="Do not read __consumer_offsets, only samples.")
@recording_command
def run(
    recording: RecordingOptions,
    *,
    step_s: float,
    horizon_s: float,
    delay_s: float,
    reset: Reset,
    forget_days: float,
    zone: str,
    feed_topic: str,
    no_feed: bool,
    no_offsets_topic: bool,
) -> None:
    """Run the pipeline, on a local Spark or on the one of spark-submit.

    With the same folder, it continues where it ended last time. `kafka-assignors backtest` reads the folder.
    """
    with option_as_usage_error(lambda name: f"--{name.removesuffix('_s')}"):
        load = LoadSettings(step_s=step_s, horizon_s=horizon_s, delay_s=delay_s, reset=reset, zone=zone)
    options = replace(
        recording.pipeline,
        load=load,
        forget_s=forget_days * DAY_S,
        feed_topic=None if no_feed else feed_topic,
        offsets_topic=not no_offsets_topic,
    )
    if not no_feed:
        with as_usage_error("--feed"):
            LoadFeed(feed_topic)  # the check of the consumers that read it
        print_notes(notes_on_feed(load, options.every_s))
    hint = f"try strategies on it: kafka-assignors backtest {options.root}"
    recording.run("kafka-assignors pipeline", options, hint)


def notes_on_feed(load: LoadSettings, every_s: float) -> Iterator[str]:
    """Yield notes if consumers would not use all forecasts under these settings."""
    age_s = forecast_age_s(load, every_s)
    age = f"forecasts get {age_s:,g} s old before newer ones arrive (--step, --delay, --every)"
    if 1000 * age_s > MAX_AGE_MS:
        yield (
            f"{age}, but consumers ignore forecasts older than {MAX_AGE_MS / 1000:g} s: "
            f"set load_max_age_ms={1000 * age_s:.0f} or more"
        )
    if age_s > load.horizon_s:
        yield f"{age}, but end after a --horizon of {load.horizon_s:g} s: make it longer"
