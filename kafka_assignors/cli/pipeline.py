"""``kafka-assignors pipeline``: record, learn the load, feed the assignor, all in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

import click

from kafka_assignors.cli.given import connection_options
from kafka_assignors.cli.record import given
from kafka_assignors.cli.recording import View, as_json, lines, recording_options, stopping
from kafka_assignors.errors import OptionError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag import Reset

__all__ = ["command"]

FEED = "kafka-assignors-load"


@click.group("pipeline")
def command() -> None:
    """Record what groups do, learn their load, and tell the assignor what to expect."""


@command.command("entry")
def entry() -> None:
    """Print the file that spark-submit takes; what follows it is a command line."""
    click.echo(Path(__file__).with_name("submit.py"))


@command.command("run")
@click.argument("groups", metavar="[GROUP]...", nargs=-1)
@connection_options
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
    help="How long a sample may be behind the newest one of its partition; a step is told after that.",
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
@recording_options
def run(
    *,
    groups: tuple[str, ...],
    bootstrap: str | None,
    config: BinaryIO | None,
    step_s: float,
    horizon_s: float,
    delay_s: float,
    reset: Reset,
    feed_topic: str,
    no_feed: bool,
    no_offsets_topic: bool,
    groups_like: str | None,
    root: str,
    every_s: float,
    for_s: float | None,
    once: bool,
    cores: int | None,
    output: str,
) -> None:
    """Run it: on a Spark of its own, or on that of spark-submit.

    It goes on where it ended the last time, if the folder is the same. What it records can be given to
    `kafka-assignors backtest`.
    """
    try:
        load = LoadSettings(step_s=step_s, horizon_s=horizon_s, delay_s=delay_s, reset=reset)
    except OptionError as error:
        raise click.UsageError(f"--{error.option.removesuffix('_s')}: {error.reason}") from error
    wanted = given(
        groups,
        groups_like,
        root,
        bootstrap,
        config,
        every_s=every_s,
        offsets_topic=not no_offsets_topic,
        load=load,
        feed_topic=None if no_feed else feed_topic,
    )
    from kafka_assignors.spark.pipeline import run_pipeline
    from kafka_assignors.spark.session import session

    with (
        stopping(for_s) as stop,
        View() as view,
        session("kafka-assignors pipeline", cores=cores, on_progress=view.step) as spark,
    ):
        try:
            report = run_pipeline(spark, wanted, stop=None if once else stop, on_report=view.report)
        except OptionError as error:
            raise click.UsageError(f"{error.option}: {error.reason}") from error
    if output == "json":
        click.echo(json.dumps(as_json(report, root)))
    else:
        click.echo("\n".join([*lines(report), f"try strategies on it: kafka-assignors backtest {root}"]))
