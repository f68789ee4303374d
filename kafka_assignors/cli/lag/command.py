"""``kafka-assignors lag``: the lag of groups, once or repeatedly."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import BinaryIO

import click

from kafka_assignors.cli.common import client_settings, connection_options, output_option, reset_option
from kafka_assignors.cli.lag.limits import Limit, failures, parse_limit
from kafka_assignors.cli.lag.reader import LagReader, is_pattern
from kafka_assignors.cli.lag.report import GroupsReport
from kafka_assignors.cli.lag.view import groups_lines, lag_lines, watched_groups_lines, watched_lines
from kafka_assignors.cli.repeated_report import WatchedReport, show_report, watch_options
from kafka_assignors.lag import Reset

_SETTLE_S, _AGAIN_S = 10.0, 0.5


@click.command("lag")
@click.argument("groups", metavar="GROUP...", nargs=-1, required=True)
@connection_options
@reset_option(
    "The group's auto_offset_reset, which a broker does not know.  Without a valid commit, all records of "
    "a partition count as lag (earliest), or none (latest)."
)
@watch_options("members and partitions", "member and partition")
@click.option(
    "--fail-above",
    "accepted",
    type=parse_limit,
    multiple=True,
    metavar="LIMIT",
    help="End with exit code 1 if a group has more lag: 10000 (records), or 30s, 5m, 2h, 1d (age of its "
    "oldest unread record).  Unknown lag fails, too.",
)
@output_option
def command(
    *,
    groups: tuple[str, ...],
    bootstrap: str | None,
    config: BinaryIO | None,
    reset: Reset,
    watch: bool,
    every: float | None,
    everything: bool,
    accepted: tuple[Limit, ...],
    output: str,
) -> None:
    """Show the lag of groups, in records and in time.

    GROUP is a name or a pattern: * stands for any characters, ? for one.  Works for any consumer group, of
    any client, with or without members.  The command only reads from the cluster; members do not notice.
    """
    if not all(groups):
        raise click.UsageError("GROUP must not be empty")
    if watch and accepted:
        raise click.UsageError("--fail-above cannot be used with --watch")
    is_single = len(groups) == 1 and not is_pattern(groups[0])
    with closing(LagReader(client_settings(bootstrap, config), reset)) as reader:
        last: list[GroupsReport] = []  # at most one report

        def fetch() -> GroupsReport:
            last[:] = [_read(reader, groups, accepted)]
            return last[0]

        watch_report = partial(show_report, output=output, watch=watch, every=every)
        if is_single:
            watch_report(
                WatchedReport(
                    lambda: fetch().reports[0],
                    lambda current, timed: lag_lines(current, everything=everything, timed=timed),
                    watched_lines,
                )
            )
        else:
            watch_report(
                WatchedReport(
                    fetch,
                    lambda current, timed: groups_lines(current, everything=everything, timed=timed),
                    watched_groups_lines,
                )
            )
    if watch:
        return
    lines = [line for report in last[0].reports for line in failures(report, accepted)]
    for line in lines:
        click.echo(line, err=True)
    if lines or last[0].problems:
        sys.exit(1)


def _read(reader: LagReader, groups: Sequence[str], accepted: Sequence[Limit]) -> GroupsReport:
    """Read the groups.

    With limits, read again while a rebalancing group counts all its commits.  No reading begins after
    ``_SETTLE_S``.

    The report of a rebalancing group counts all its commits, also those of topics that it no longer reads.
    It does not count owned partitions without a commit.  So its lag may be too large or too small.
    """
    deadline = time.monotonic() + _SETTLE_S
    while True:
        report = reader.read(groups)
        is_unsettled = any(group.counts_all_commits for group in report.reports)
        if not (accepted and is_unsettled) or time.monotonic() >= deadline:
            return report
        time.sleep(_AGAIN_S)
