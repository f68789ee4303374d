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

__all__ = ["lag_lines", "watched_lines"]

_REASONS = 4
_LINES_A_ROW = 4  # what a row with long names may take; more only leaves lines free


def lag_lines(report: Report, *, everything: bool, timed: bool = False) -> Lines:
    """Totals, members, partitions; of a large group those with the largest lag.

    Args:
        report: what to show.
        everything: all members and partitions.
        timed: whether to say when this was.
    """
    view = _View(report, timed=timed)
    if everything:
        return view.lines(len(report.members), len(report.partitions))
    return view.lines(MEMBERS, ROWS)


def watched_lines(report: Report, console: Console, height: int) -> Lines:
    """The same, with the time, and with as many members and partitions as fit into so many lines."""
    view = _View(report, timed=True)
    members, partitions = len(report.members), len(report.partitions)
    rows = min(members + partitions, max(height, 0))
    while True:
        few = max(min(members, rows // 2), rows - partitions)
        lines = view.lines(few, rows - few, hint="")
        excess = len(console.render_lines(lines, pad=False)) - height
        if excess <= 0 or rows <= 2:
            return lines
        rows = max(rows - max(excess // _LINES_A_ROW, 1), 2)


class _View:
    """What is shown of a report, however many rows of it."""

    def __init__(self, report: Report, *, timed: bool) -> None:
        self._report = report
        self._names = short_names(member.member_id for member in report.members)
        self._top = [_head(report, timed=timed), Text(_totals(report))]
        if any(not member.readable for member in report.members):
            self._top.append(Text("of some members nobody but they can read what they have", style="yellow"))
        totals = report.by_member()
        self._largest_members = sorted(report.members, key=lambda m: -totals[m.member_id][2])
        self._largest = sorted(report.partitions, key=lambda one: (one.lag is None, -(one.lag or 0), one.tp))

    def lines(self, members: int, partitions: int, hint: str = "; --all shows them") -> Lines:
        """At most so many members and partitions, those with the largest lag."""
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
            shown_ones = self._largest[:partitions] if less > 0 else report.partitions
            parts += [Text(), _partitions(shown_ones, names), *more(less, hint=hint)]
        return Lines(*parts)


def _head(report: Report, *, timed: bool) -> Text:
    group = report.group
    topics = len({one.tp.topic for one in report.partitions})
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
    known = [one for one in report.partitions if one.lag is not None]
    if known and report.lag:
        worst = max(known, key=lambda one: one.lag or 0)
        lines[0] += f", the largest is {worst.lag:,} of {partition_name(*worst.tp)}"
    lines += _unknown(report)
    resets = sum(one.offsets is not None and one.offsets.committed is None for one in known)
    if resets:
        where = "all there is" if report.reset == "earliest" else "none"
        lines.append(
            f"{counted(resets, 'partition')} without a commit: {where} counts (--reset {report.reset})"
        )
    return "\n".join(lines)


def _unknown(report: Report) -> list[str]:
    """Why the lag of some is not known: reason by reason, each with a partition for an example."""
    reasons: dict[str, list[PartitionLag]] = {}
    for one in report.partitions:
        if one.lag is None:
            reasons.setdefault(one.missing or "", []).append(one)
    lines = []
    for why, found in sorted(reasons.items(), key=lambda reason: -len(reason[1])):
        example = partition_name(*found[0].tp) + ", ..." * (len(found) > 1)
        lines.append(f"not known of {counted(len(found), 'partition')} ({example}): {why}")
    more = len(lines) - _REASONS
    return lines if more <= 0 else [*lines[:_REASONS], f"and for {counted(more, 'other reason')}"]


def _members(report: Report, names: Mapping[str, str], members: Iterable[GroupMember]) -> Columns:
    with_instances = any(member.instance_id for member in report.members)
    # A member's id mostly begins with its client's; then a column for that would only take room.
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
    with_members = any(one.member_id is not None for one in chosen)
    table = columns(
        *("partition", ">begin", ">committed", ">end", ">lag"),
        *["member"] * with_members,
    )
    for one in chosen:
        offsets = one.offsets
        numbers = (offsets.begin, offsets.committed, offsets.end) if offsets else (None,) * 3
        table.add_row(
            Text(partition_name(*one.tp)),
            *["-" if number is None else f"{number:,}" for number in (*numbers, one.lag)],
            *[Text("-" if one.member_id is None else names[one.member_id])] * with_members,
        )
    return table
