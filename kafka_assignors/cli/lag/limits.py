"""``--fail-above``: limits of lag, in records and in time, for checks.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import click

from kafka_assignors.cli.lag.report import Report
from kafka_assignors.cli.tables import counted, duration
from kafka_assignors.plan import shown

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest lag that is accepted."""

    value: float  # records, or milliseconds if ``in_time``
    in_time: bool


def parse_limit(value: str) -> Limit:
    """Parse a value of ``--fail-above``.

    Raises:
        click.BadParameter: the value is neither records nor a time.
    """
    if match := re.fullmatch(r"(\d+)", value, re.ASCII):
        return Limit(int(match[1]), in_time=False)
    if (time_ms := milliseconds(value)) is not None:
        return Limit(time_ms, in_time=True)
    raise click.BadParameter(f"{value!r}: expected records (10000) or a time (30s, 5m, 2h, 1d)")


def milliseconds(text: str) -> float | None:
    """Return the milliseconds of a time such as ``30s``; None: the text is not a time."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text, re.ASCII)
    return float(match[1]) * _UNITS_MS[match[2]] if match else None


def failures(report: Report, accepted: Iterable[Limit]) -> list[str]:
    """Return a line for each limit that a group exceeds, or may exceed because some lag is unknown."""
    lines = []
    name = shown(report.group.group_id)
    for limit in accepted:
        value = (report.time_lag_ms or 0.0) if limit.in_time else report.lag
        unknown = report.unknown + (report.time_unknown if limit.in_time else 0)
        what, shown_value = ("time lag", duration) if limit.in_time else ("lag", _records)
        why = ", counting all commits, because the group is rebalancing" * report.counts_all_commits
        if value > limit.value:
            shown_limit = shown_value(limit.value)
            above = "just above" if shown_value(value) == shown_limit else "above"  # a duration is rounded
            lines.append(f"{name}: {what} {shown_value(value)} is {above} {shown_limit}{why}")
        elif unknown:
            lines.append(f"{name}: {what} of {counted(unknown, 'partition')} is unknown{why}")
        elif report.unknown_members and not report.partitions:
            lines.append(f"{name}: {what} is unknown: {report.unknown_members}, and there are no commits")
    return lines


def _records(value: float) -> str:
    return f"{value:,.0f}"
