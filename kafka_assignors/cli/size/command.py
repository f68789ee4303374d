"""``kafka-assignors size``: the least number of members with which no record waits too long."""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import BinaryIO

import click
from click.core import ParameterSource

from kafka_assignors.cli.backtest.options import parse_moment
from kafka_assignors.cli.common import (
    Address,
    FiniteRange,
    as_usage_error,
    client_settings,
    connection_options,
    output_option,
    parse_address,
    reset_option,
    sigterm_as_interrupt,
)
from kafka_assignors.cli.lag.limits import milliseconds
from kafka_assignors.cli.lag.reader import LagReader, is_pattern
from kafka_assignors.cli.pipeline.spark import recording_folder, require_spark, spark_size_options
from kafka_assignors.cli.plan.forecasts import read_feed
from kafka_assignors.cli.plan.options import KNOWN, check_options, named_value, refuse_foreign, with_options
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.cli.size.recording import RecordingRequest, recorded_size
from kafka_assignors.cli.size.report import SizeReport, size_lines
from kafka_assignors.cli.size.sizes import GroupSizes, SizeRequest
from kafka_assignors.cli.tables import duration, screen, show
from kafka_assignors.errors import needs_extra
from kafka_assignors.lag import Reset
from kafka_assignors.lag.rates import WINDOW_S
from kafka_assignors.pipeline.session import session
from kafka_assignors.simulation.sizing import Target
from kafka_assignors.strategies import load_strategy

_MOST_DAYS = 365  # maximum of an option that takes a time; ``time.sleep`` refuses much longer ones


def _seconds(value: str) -> float:
    seconds = (milliseconds(value) or 0) / 1000
    if not 0 < seconds <= 86_400 * _MOST_DAYS:
        raise click.BadParameter(f"{value!r}: expected a time (30s, 5m, 2h, 1d) of at most {_MOST_DAYS}d")
    return seconds


@click.command("size")
@click.argument("group_id", metavar="GROUP")
@connection_options
@click.option(
    "--max-time-lag",
    "max_time_lag_s",
    metavar="TIME",
    type=_seconds,
    required=True,
    help="How long a record may wait: 30s, 5m.",
)
@click.option(
    "--horizon",
    "horizon_s",
    metavar="TIME",
    type=_seconds,
    default="1h",
    help="How far ahead the time lag must stay within --max-time-lag.",
)
@click.option(
    "--headroom",
    type=FiniteRange(0, 1, max_open=True),
    default=0.2,
    help="Part of a member's rate to keep free.",
)
@click.option(
    "--rate",
    metavar="RECORDS/S",
    type=FiniteRange(0.0001, 1e9),
    help="Records/s that a member of capacity 1 reads.  "
    "[default: measured from members with lag at both looks, or else what members report]",
)
@click.option("--load-topic", metavar="TOPIC", help="The topic with load forecasts of the group.")
@click.option("--strategy", metavar="NAME", help=f"The strategy, {KNOWN}.  [default: the one the group runs]")
@click.option(
    "--option", "options", metavar="NAME=VALUE", multiple=True, help="An option of the strategy; repeatable."
)
@click.option(
    "--every",
    "every_s",
    metavar="TIME",
    type=_seconds,
    default="1m",
    help="Time between two looks at the group.  "
    "Arrivals and rates are measured over it; with --serve and without --rate, over at least 1m.",
)
@reset_option("The group's auto_offset_reset, for the lag of partitions without a commit.")
@click.option(
    "--recording",
    metavar="FOLDER",
    help="Size the group at the end of a pipeline's recording instead of looking at it (extra spark).",
)
@click.option(
    "--until",
    metavar="TIME",
    type=parse_moment,
    help="End of the recording, as 2026-11-22T10:30 (UTC).  [default: its last step]",
)
@click.option(
    "--recorded-members",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of members at the end of the recording; a member's rate follows from it.",
)
@spark_size_options
@click.option(
    "--serve",
    "listen",
    metavar="HOST:PORT",
    type=parse_address,
    help="Serve the size to autoscalers until interrupted: JSON at /size, metrics at /metrics.",
)
@output_option
@click.pass_context
def command(
    context: click.Context,
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
    options: tuple[str, ...],
    every_s: float,
    reset: Reset,
    recording: str | None,
    until: datetime | None,
    recorded_members: int | None,
    cores: int | None,
    memory: str,
    listen: Address | None,
    output: str,
) -> None:
    """Show how many members a group needs so that no record waits too long, and why.

    The command looks at the group twice, or reads its recording, and simulates sizes with its strategy.
    It only reads from the cluster.  Exit code 0: the group has the advised size.  1: it has another size, its
    plan is too old, no size is enough, a record has already waited too long, or there is no answer.
    """
    if not group_id or is_pattern(group_id):
        raise click.UsageError("GROUP must be the name of one group")
    if horizon_s < max_time_lag_s:
        raise click.UsageError("--horizon must not be shorter than --max-time-lag")
    target = Target(max_time_lag_s, headroom)
    with as_usage_error("--strategy"):
        own = [] if strategy is None else [load_strategy(strategy)]
    given = dict(named_value(text) for text in options)
    check_options("--option ", given, own)
    for kind in own:
        refuse_foreign("--option ", kind, given)
        with_options(kind, {}, given)
    request = SizeRequest(group_id, target, horizon_s, rate, strategy, load_topic, given)
    if recording is not None:
        is_reset_given = context.get_parameter_source("reset") is not ParameterSource.DEFAULT
        if bootstrap or config or load_topic or listen or is_reset_given:
            raise click.UsageError(
                "--recording replaces --bootstrap, --config, --load-topic, --reset and --serve: "
                "leave them out"
            )
        folder = recording_folder("--recording", recording)
        recorded = RecordingRequest(folder, until, recorded_members, every_s)
        _print_and_exit(_recorded(recorded, request, cores, memory), output)
        return
    if until or recorded_members:
        raise click.UsageError("--until and --recorded-members need --recording")
    settings = client_settings(bootstrap, config)
    feed = None if load_topic is None else partial(read_feed, settings, group_id, load_topic)
    # Rates of members are means over at least a minute, because members commit only every few seconds.
    with closing(LagReader(settings, reset, WINDOW_S if rate is None else every_s)) as reader:
        sizes = GroupSizes(lambda: reader.read([group_id]).reports[0], request, feed)
        if listen is not None:
            _serve(listen, every_s, sizes, group_id)
            return
        sizes.look()
        # The status is shown only on a terminal.
        with screen(stderr=True).status(f"looking again in {duration(1000 * every_s)}"):
            time.sleep(every_s)
        report = sizes.read()
    _print_and_exit(report, output)


def _print_and_exit(report: SizeReport, output: str) -> None:
    """Print a report.  Exit with 1 if the size is not right."""
    if output == "json":
        click.echo(json.dumps(report.as_json()))
    else:
        show(size_lines(report))
    if not report.is_fine:
        sys.exit(1)


def _serve(listen: Address, every_s: float, sizes: GroupSizes, group_id: str) -> None:
    """Serve sizes.  The import is here, because a single size does not need the extra ``prometheus``."""
    with needs_extra("prometheus"):
        from kafka_assignors.cli.size.serve import serve

    serve(listen, sizes.read, group_id, every_s)


def _recorded(source: RecordingRequest, request: SizeRequest, cores: int | None, memory: str) -> SizeReport:
    """Return the size at the end of a recording, read with Spark."""
    require_spark()
    with (
        sigterm_as_interrupt(),
        ProgressView() as view,
        session("kafka-assignors size", cores=cores, memory=memory, on_progress=view.step) as spark,
    ):
        spark.sparkContext.setLogLevel("FATAL")  # failures are reported in one line, by this command
        return recorded_size(spark, source, request)
