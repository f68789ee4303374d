"""A group's lag as tables for a terminal of any width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rich.console import Console
from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.lag.report import PartitionLag, Report
from kafka_assignors.cli.tables import (
    MEMBERS,
    ROWS,
    Columns,
    columns,
    counted,
    more,
    partition_name,
    short_names,
)
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.plan import shown

_REASONS = 4
_LINES_A_ROW = 4  # maximum lines of a row with long names; if too large, some lines stay empty


def lag_lines(report: Report, *, everything: bool, timed: bool = False) -> Lines:
    """Return totals, members and partitions; of a large group those with the largest lag.

    Args:
        report: the report to show.
        everything: show all members and partitions.
        timed: show the time of the report.
    """
    view = _View(report, timed=timed)
    if everything:
        return view.lines(len(report.members), len(report.partitions))
    return view.lines(MEMBERS, ROWS)


def watched_lines(report: Report, console: Console, height: int) -> Lines:
    """Return the report with its time, and as many members and partitions as fit into ``height`` lines."""
    view = _View(report, timed=True)
    members, partitions = len(report.members), len(report.partitions)
    rows = min(members + partitions, max(height, 0))
    while True:
        member_rows = max(min(members, rows // 2), rows - partitions)
        lines = view.lines(member_rows, rows - member_rows, hint="")
        excess = len(console.render_lines(lines, pad=False)) - height
        if excess <= 0 or rows <= 2:
            return lines
        rows = max(rows - max(excess // _LINES_A_ROW, 1), 2)


class _View:
    """Draws a report with a chosen number of rows."""

    def __init__(self, report: Report, *, timed: bool) -> None:
        self._report = report
        self._names = short_names(member.member_id for member in report.members)
        self._top = [_head(report, timed=timed), Text(_totals(report))]
        if any(not member.readable for member in report.members):
            self._top.append(
                Text(
                    "the assignments of some members cannot be read: their partitions are unknown",
                    style="yellow",
                )
            )
        totals = report.by_member()
        self._largest_members = sorted(report.members, key=lambda m: -totals[m.member_id][2])
        self._largest = sorted(report.partitions, key=lambda p: (p.lag is None, -(p.lag or 0), p.tp))

    def lines(self, members: int, partitions: int, hint: str = "; --all shows them") -> Lines:
        """Return the given numbers of members and partitions, those with the largest lag."""
        report, names = self._report, self._names
        parts: list[Text | Columns] = list(self._top)
        if report.members:
            less = len(report.members) - members
            chosen = self._largest_members[:members] if less > 0 else report.members
            parts += [Text(), _members(report, names, chosen), *more(less, hint=hint)]
        if report.partitions:
            less = len(report.partitions) - partitions
            if less > 0:
                parts.append(Text(f"\nThe {counted(partitions, 'partition')} with the largest lag:"))
            chosen_partitions = self._largest[:partitions] if less > 0 else report.partitions
            parts += [Text(), _partitions(chosen_partitions, names), *more(less, hint=hint)]
        return Lines(*parts)


def _head(report: Report, *, timed: bool) -> Text:
    group = report.group
    topics = len({partition.tp.topic for partition in report.partitions})
    facts = [
        *[group.strategy and shown(group.strategy)],
        counted(len(group.members), "member"),
        f"{counted(len(report.partitions), 'partition')} of {counted(topics, 'topic')}",
    ]
    return Text.assemble(
        f"{report.time[11:19]} UTC  " if timed else "",
        (shown(group.group_id), "bold"),
        f": {shown(group.state)}, ",
        ", ".join(filter(None, facts)),
    )


def _totals(report: Report) -> str:
    lines = [f"lag {report.lag:,}"]
    known = [partition for partition in report.partitions if partition.lag is not None]
    if known and report.lag:
        worst = max(known, key=lambda partition: partition.lag or 0)
        lines[0] += f", the largest is {worst.lag:,} of {partition_name(*worst.tp)}"
    lines += _unknown(report)
    resets = sum(p.offsets is not None and p.offsets.committed is None for p in known)
    if resets:
        where = "all there is" if report.reset == "earliest" else "none"
        lines.append(
            f"{counted(resets, 'partition')} without a commit: {where} counts (--reset {report.reset})"
        )
    return "\n".join(lines)


def _unknown(report: Report) -> list[str]:
    """Return a line for each reason of unknown lag, with a partition as an example."""
    reasons: dict[str, list[PartitionLag]] = {}
    for partition in report.partitions:
        if partition.lag is None:
            reasons.setdefault(partition.missing or "", []).append(partition)
    lines = []
    for why, partitions in sorted(reasons.items(), key=lambda reason: -len(reason[1])):
        example = partition_name(*partitions[0].tp) + ", ..." * (len(partitions) > 1)
        lines.append(f"unknown for {counted(len(partitions), 'partition')} ({example}): {why}")
    others = len(lines) - _REASONS
    return lines if others <= 0 else [*lines[:_REASONS], f"and for {counted(others, 'other reason')}"]


def _members(report: Report, names: Mapping[str, str], members: Iterable[GroupMember]) -> Columns:
    with_instances = any(member.instance_id for member in report.members)
    # Member ids mostly begin with the client id, which then needs no column.
    with_clients = any(not member.member_id.startswith(member.client_id) for member in report.members)
    table = columns(
        "member", *["instance"] * with_instances, *["client"] * with_clients, "host", ">partitions", ">lag"
    )
    totals = report.by_member()
    for member in members:
        owned, unknown, lag = totals[member.member_id]
        table.add_row(
            Text(names[member.member_id]),
            *[Text(shown(member.instance_id or "-"))] * with_instances,
            *[Text(shown(member.client_id))] * with_clients,
            Text(shown(member.host)),
            f"{owned:,}" if member.readable else "?",
            f"{lag:,}{'+?' * bool(unknown)}" if member.readable else "?",
        )
    return table


def _partitions(chosen: Collection[PartitionLag], names: Mapping[str, str]) -> Columns:
    with_members = any(partition.member_id is not None for partition in chosen)
    table = columns(
        *("partition", ">begin", ">committed", ">end", ">lag"),
        *["member"] * with_members,
    )
    for partition in chosen:
        offsets = partition.offsets
        numbers = (offsets.begin, offsets.committed, offsets.end) if offsets else (None,) * 3
        table.add_row(
            Text(partition_name(*partition.tp)),
            *["-" if number is None else f"{number:,}" for number in (*numbers, partition.lag)],
            *[Text("-" if partition.member_id is None else names[partition.member_id])] * with_members,
        )
    return table
