"""``kafka-assignors exporter``: the lag of groups over HTTP, for Prometheus."""

from __future__ import annotations

import re
from contextlib import suppress
from re import Pattern
from typing import BinaryIO

import click

from kafka_assignors.cli.common import (
    Address,
    client_settings,
    connection_options,
    parse_address,
    sigterm_as_interrupt,
    wait_for_interrupt,
)
from kafka_assignors.cli.exporter.fetch import ClusterReader
from kafka_assignors.cli.exporter.page import LagPage
from kafka_assignors.cli.exporter.server import reading_repeatedly, serving

_SHORTEST_TIMEOUT_S, _LONGEST_TIMEOUT_S = 10.0, 120.0


def _pattern(value: str) -> Pattern[str]:
    try:
        return re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise click.BadParameter(f"{value!r} is no regular expression: {error}") from error


@click.command("exporter")
@connection_options
@click.option(
    "--listen",
    metavar="HOST:PORT",
    type=parse_address,
    default="127.0.0.1:8000",
    help="Address of the page.",
)
@click.option(
    "--groups",
    metavar="PATTERN",
    type=_pattern,
    multiple=True,
    default=(".*",),
    help="Regular expression that the whole name of a group matches; repeatable.",
)
@click.option(
    "--topics",
    metavar="PATTERN",
    type=_pattern,
    multiple=True,
    default=(".*",),
    help="Report only topics whose whole name matches this regular expression; repeatable.",
)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.IntRange(1, 3600),
    default=30,
    help="Seconds between two readings of the cluster.",
)
@click.option(
    "--no-seconds",
    is_flag=True,
    help="Omit the lag in seconds; the exporter then needs no READ on topics.",
)
@click.option("--cluster-name", default="default", help="Value of the label cluster_name.")
def command(
    *,
    bootstrap: str | None,
    config: BinaryIO | None,
    listen: Address,
    groups: tuple[Pattern[str], ...],
    topics: tuple[Pattern[str], ...],
    interval: int,
    no_seconds: bool,
    cluster_name: str,
) -> None:
    """Serve the lag of groups to Prometheus, with kafka-lag-exporter's metrics.

    The command only reads from the cluster, in the background.  The page answers even while no broker does.
    """
    settings = client_settings(bootstrap, config)
    timeout_s = min(max(interval, _SHORTEST_TIMEOUT_S), _LONGEST_TIMEOUT_S)
    reader = ClusterReader(settings, groups, topics, timeout_s, with_seconds=not no_seconds)
    page = LagPage(cluster_name, interval)
    with suppress(KeyboardInterrupt), sigterm_as_interrupt(), serving(page, listen) as served:
        servers = ",".join(settings["bootstrap_servers"])
        _log(f"serving http://{served}/metrics, reading {servers} every {interval} s")
        with reading_repeatedly(reader.read, page, interval, _log):
            wait_for_interrupt()


def _log(line: str) -> None:
    click.echo(f"kafka-assignors exporter: {line}", err=True)
