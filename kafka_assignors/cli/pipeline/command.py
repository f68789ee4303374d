"""``kafka-assignors pipeline``: record, learn the load, feed the assignor, all in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from kafka_assignors.cli.pipeline.recording import Recording, recording_command
from kafka_assignors.cli.plan.foreseen import MAX_AGE_MS
from kafka_assignors.cli.plan.notes import say
from kafka_assignors.errors import OptionError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag import Reset
from kafka_assignors.pipeline.run import run_pipeline

__all__ = ["command", "notes_on_feed"]

FEED = "kafka-assignors-load"


@click.group("pipeline")
def command() -> None:
    """Record what groups do, learn their load, and tell the assignor what to expect."""


@command.command("entry")
def entry() -> None:
    """Print the file that spark-submit takes; what follows it is a command line."""
    click.echo(Path(__file__).with_name("submit.py"))


@command.command("run")
@click.option(
    "--step",
    "step_s",
    metavar="SECONDS",
    type=float,
    default=60.0,
    show_default=True,
    help="Of the load model; a quarter of an hour is a whole number of them.",
)
@click.option(
    "--horizon",
    "horizon_s",
    metavar="SECONDS",
    type=float,
    default=3600.0,
    show_default=True,
    help="How far forecasts look ahead; a whole number of steps.",
)
@click.option(
    "--delay",
    "delay_s",
    metavar="SECONDS",
    type=float,
    default=120.0,
    show_default=True,
    help="How long a sample may be behind the newest one of its partition; a step, and its forecast, is told "
    "after that, and consumers pass by forecasts older than load_max_age_ms (900 s).",
)
@click.option(
    "--reset",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="The groups' auto_offset_reset, which a broker does not know.",
)
@click.option(
    "--feed",
    "feed_topic",
    metavar="TOPIC",
    default=FEED,
    show_default=True,
    help="Where forecasts go, for load_source= of cooperative-lag-aware; it is made if it is missing.",
)
@click.option("--no-feed", is_flag=True, help="Send them nowhere.")
@click.option("--no-offsets-topic", is_flag=True, help="Leave __consumer_offsets alone: the samples will do.")
@recording_command
def run(
    recording: Recording,
    *,
    step_s: float,
    horizon_s: float,
    delay_s: float,
    reset: Reset,
    feed_topic: str,
    no_feed: bool,
    no_offsets_topic: bool,
) -> None:
    """Run it: on a Spark of its own, or on that of spark-submit.

    It goes on where it ended the last time, if the folder is the same. What it records can be given to
    `kafka-assignors backtest`.
    """
    try:
        load = LoadSettings(step_s=step_s, horizon_s=horizon_s, delay_s=delay_s, reset=reset)
    except OptionError as error:
        raise click.UsageError(f"--{error.option.removesuffix('_s')}: {error.reason}") from error
    wanted = replace(
        recording.wanted,
        load=load,
        feed_topic=None if no_feed else feed_topic,
        offsets_topic=not no_offsets_topic,
    )
    if not no_feed:
        say(notes_on_feed(load, recording.wanted.every_s))
    hint = f"try strategies on it: kafka-assignors backtest {wanted.root}"
    recording.run("kafka-assignors pipeline", run_pipeline, wanted, hint)


def notes_on_feed(load: LoadSettings, every_s: float) -> Iterator[str]:
    """What to say of a feed whose forecasts, by these settings, consumers would not use all of the time.

    One is of the end of its step, told ``delay`` after that by the next batch, and the newest for a step.
    """
    age_s = load.step_s + load.delay_s + every_s
    old = f"forecasts get {age_s:,g} s old before there are newer ones (--step, --delay and --every together)"
    if 1000 * age_s > MAX_AGE_MS:
        yield (
            f"{old}, and consumers use none that is older than {MAX_AGE_MS / 1000:g} s: "
            f"give them load_max_age_ms={1000 * age_s:.0f} or more"
        )
    if age_s > load.horizon_s:
        yield f"{old}, and foresee nothing after a --horizon of {load.horizon_s:g} s: let it be longer"
