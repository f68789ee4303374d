"""``kafka-assignors size``: the least number of members with which no record waits too long."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import click

from kafka_assignors.cli.common import client_settings, connection_options
from kafka_assignors.cli.lag.limits import milliseconds
from kafka_assignors.cli.lag.reader import LagReader, is_pattern
from kafka_assignors.cli.lag.report import Report
from kafka_assignors.cli.plan.forecasts import read_feed
from kafka_assignors.cli.size.load import GroupLoad, group_load, partitions_of
from kafka_assignors.cli.size.report import SizeReport, size_lines
from kafka_assignors.cli.tables import show
from kafka_assignors.errors import GroupError, MissingExtraError, OptionError
from kafka_assignors.lag import Reset
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import Group
from kafka_assignors.simulation.sizing import Target, size
from kafka_assignors.strategies import STRATEGIES, load_strategy

_DEFAULT = "cooperative-sticky"  # of a group without members


def _seconds(_ctx: click.Context, _param: click.Parameter, value: str) -> float:
    if not (time_ms := milliseconds(value)):
        raise click.BadParameter(f"{value!r}: expected a time (30s, 5m, 2h, 1d)")
    return time_ms / 1000


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """What to size, as the options say.

    Attributes:
        group_id: the group.
        target: the time lag to hold.
        horizon_s: length of the horizon.
        rate: records/s of a member; None: measured.
        strategy: name of the strategy; None: the group's.
        load_topic: topic with forecasts; None: none.
    """

    group_id: str
    target: Target
    horizon_s: float
    rate: float | None = None
    strategy: str | None = None
    load_topic: str | None = None


@click.command("size")
@click.argument("group_id", metavar="GROUP")
@connection_options
@click.option(
    "--max-time-lag",
    "max_time_lag_s",
    metavar="TIME",
    callback=_seconds,
    required=True,
    help="How long a record may wait: 30s, 5m.",
)
@click.option(
    "--horizon",
    "horizon_s",
    metavar="TIME",
    callback=_seconds,
    default="1h",
    show_default=True,
    help="How far ahead the size has to do.",
)
@click.option(
    "--headroom",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Part of a member's rate to keep free.",
)
@click.option(
    "--rate",
    metavar="RECORDS/S",
    type=click.FloatRange(0, min_open=True),
    help="What one member can read.  [default: measured of members that have lag at both looks]",
)
@click.option("--load-topic", metavar="TOPIC", help="The topic with load forecasts of the group.")
@click.option("--strategy", metavar="NAME", help="The strategy.  [default: the one the group runs]")
@click.option(
    "--every",
    "every_s",
    metavar="TIME",
    callback=_seconds,
    default="1m",
    show_default=True,
    help="Time between two looks at the group, over which arrivals are measured.",
)
@click.option(
    "--reset",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="The group's auto_offset_reset, for the lag of partitions without a commit.",
)
@click.option(
    "--serve",
    "listen",
    metavar="HOST:PORT",
    help="Serve the size to autoscalers until interrupted: JSON at /size, metrics at /metrics.",
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *,
    group_id: str,
    bootstrap: str | None,
    config: BinaryIO | None,
    max_time_lag_s: float,
    horizon_s: float,
    headroom: float,
    rate: float | None,
    load_topic: str | None,
    strategy: str | None,
    every_s: float,
    reset: Reset,
    listen: str | None,
    output: str,
) -> None:
    """Show how many members a group needs so that no record waits too long, and why.

    The command looks at the group twice and simulates sizes through the group's own strategy.  It only reads
    from the cluster.  Exit code 0: the size is right; 1: it is not, or there is no answer.
    """
    if not group_id or is_pattern(group_id):
        raise click.UsageError("GROUP must be the name of one group")
    settings = client_settings(bootstrap, config)
    target = Target(max_time_lag_s, headroom)
    request = SizeRequest(group_id, target, horizon_s, rate, _known(strategy), load_topic)
    with closing(LagReader(settings, reset)) as reader:
        if listen is not None:
            _serve(listen, every_s, reader, request, settings)
            return
        before = reader.read([group_id]).reports[0]
        time.sleep(every_s)
        now = reader.read([group_id]).reports[0]
    report = sized(before, now, request, settings)
    if output == "json":
        click.echo(json.dumps(report.as_json()))
    else:
        show(size_lines(report))
    if not report.sizing.is_right:
        sys.exit(1)


def _serve(
    listen: str, every_s: float, reader: LagReader, request: SizeRequest, settings: Mapping[str, Any]
) -> None:
    """Serve sizes; needs an extra that a single size does not."""
    try:
        from kafka_assignors.cli.size.serve import serve
    except ModuleNotFoundError as error:
        raise MissingExtraError("prometheus", str(error.name)) from error

    last: list[tuple[Report, SizeReport | None]] = []

    def read() -> SizeReport:
        now = reader.read([request.group_id]).reports[0]
        if not last:
            last.append((now, None))
            raise GroupError(f"one look at group {request.group_id!r} so far: a size needs two")
        before, report = last[0]
        last[0] = now, report
        report = sized(before, now, request, settings, report)
        last[0] = now, report
        return report

    serve(listen, read, request.group_id, every_s)


def sized(
    before: Report,
    now: Report,
    request: SizeRequest,
    settings: Mapping[str, Any],
    last: SizeReport | None = None,
) -> SizeReport:
    """Return the size of a group from two looks, and the feed's forecasts if they are wanted.

    Args:
        before: the first look.
        now: the second one.
        request: the options.
        settings: of the connection, for the feed.
        last: the report before, whose advice and measured rate are kept while they do.

    Raises:
        GroupError: the group's strategy is unknown, it has no partitions, or no rate could be measured.
    """
    expected = None
    if request.load_topic is not None:
        group = Group((), partitions_of(now))
        expected = read_feed(group, settings, request.group_id, request.load_topic)
    load = group_load(before, now, request.horizon_s, rate=request.rate, expected=expected)
    history = load.history
    if history.service_rate is None and last is not None:
        history = replace(history, service_rate=last.sizing.rate)
    if history.service_rate is None:
        raise GroupError(
            f"no member of {request.group_id!r} had lag at both looks, so its rate is unknown: give --rate"
        )
    name, notes = _strategy(load, request)
    by_load = expected is not None and load_strategy(name).by_forecast
    sizing = size(
        history,
        simulated(name, by_load=by_load),
        request.target,
        members=load.members or None,  # a group without members has no size to stay at
        owners=load.owners,
        stay_at=None if last is None else last.sizing.advised,
    )
    return SizeReport(request.group_id, now.time, name, sizing, load.is_measured, (*load.notes, *notes))


def _strategy(load: GroupLoad, request: SizeRequest) -> tuple[str, list[str]]:
    if request.strategy is not None:
        return request.strategy, []
    if not load.strategy:
        return _DEFAULT, [f"the group has no members: sizes are planned with {_DEFAULT} (--strategy)"]
    if load.strategy not in STRATEGIES:
        raise GroupError(
            f"group {request.group_id!r} runs {load.strategy!r}, which is not in this package: "
            f"give --strategy, one of {', '.join(STRATEGIES)}"
        )
    return load.strategy, []


def _known(strategy: str | None) -> str | None:
    if strategy is None:
        return None
    try:
        load_strategy(strategy)
    except OptionError as error:
        raise click.UsageError(f"--strategy: {error.reason}") from error
    return strategy
