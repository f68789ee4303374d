"""A group's lag as tables for a terminal of any width."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from kafka_assignors.cli.lag_report import PartitionLag, Report
from kafka_assignors.cli.tables import columns, counted, short_names
from kafka_assignors.plan import shown

__all__ = ["MEMBERS", "PARTITIONS", "lag_lines"]

MEMBERS = 30  # shown of a large group, unless all are asked for
PARTITIONS = 20
_REASONS = 4
_OTHER_LINES = 16 + _REASONS  # heads, totals, what separates them


def lag_lines(report: Report, *, everything: bool, height: int | None = None) -> Lines:
    """Totals, members, partitions; of a large group those with the largest lag.

    Args:
        report: what to show.
        everything: all members and partitions.
        height: lines there are to show it in, if that is limited.
    """
    members, partitions = _limits(report, everything=everything, height=height)
    names = short_names(member.member_id for member in report.members)
    parts: list[Text | Table] = [_head(report), Text(_totals(report))]
    if any(not member.readable for member in report.members):
        parts.append(Text("of some members nobody but they can read what they have", style="yellow"))
    if report.members:
        parts += [Text(), _members(report, names, members)]
        parts += _more(len(report.members) - members, everything=everything)
    if report.partitions:
        chosen = report.partitions
        if len(chosen) > partitions:
            largest = sorted(chosen, key=lambda one: (one.lag is None, -(one.lag or 0), one.tp))
            chosen = tuple(largest[:partitions])
            parts += [Text(f"\nThe {counted(partitions, 'partition')} with the largest lag:")]
        parts += [Text(), _partitions(chosen, names)]
        parts += _more(len(report.partitions) - partitions, everything=everything)
    return Lines(*parts)


def _limits(report: Report, *, everything: bool, height: int | None) -> tuple[int, int]:
    """How many members and partitions to show."""
    members, partitions = len(report.members), len(report.partitions)
    if not everything:
        members, partitions = min(members, MEMBERS), min(partitions, PARTITIONS)
    if height is not None and members + partitions > (rows := max(height - _OTHER_LINES, 2)):
        members = max(min(members, rows // 2), rows - partitions)
        partitions = rows - members
    return members, partitions


def _head(report: Report) -> Text:
    group = report.group
    topics = len({one.tp.topic for one in report.partitions})
    facts = [
        *[group.strategy and shown(group.strategy)],
        counted(len(group.members), "member"),
        f"{counted(len(report.partitions), 'partition')} of {counted(topics, 'topic')}",
    ]
    return Text.assemble(
        (shown(group.group_id), "bold"), f": {shown(group.state)}, ", ", ".join(filter(None, facts))
    )


def _totals(report: Report) -> str:
    lines = [f"lag {report.lag:,}"]
    known = [one for one in report.partitions if one.lag is not None]
    if known and report.lag:
        worst = max(known, key=lambda one: one.lag or 0)
        lines[0] += f", the largest is {worst.lag:,} of {_name(worst)}"
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
        example = _name(found[0]) + ", ..." * (len(found) > 1)
        lines.append(f"not known of {counted(len(found), 'partition')} ({example}): {why}")
    more = len(lines) - _REASONS
    return lines if more <= 0 else [*lines[:_REASONS], f"and for {counted(more, 'other reason')}"]


def _members(report: Report, names: Mapping[str, str], limit: int) -> Table:
    with_instances = any(member.instance_id for member in report.members)
    # A member's id mostly begins with its client's; then a column for that would only take room.
    with_clients = any(not member.member_id.startswith(member.client_id) for member in report.members)
    table = columns(
        "member", *["instance"] * with_instances, *["client"] * with_clients, "host", ">partitions", ">lag"
    )
    totals = report.by_member()
    members = report.members
    if len(members) > limit:
        members = tuple(sorted(members, key=lambda m: -totals[m.member_id][2])[:limit])
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


def _partitions(chosen: Collection[PartitionLag], names: Mapping[str, str]) -> Table:
    with_members = any(one.member_id is not None for one in chosen)
    table = columns(
        *("partition", ">begin", ">committed", ">end", ">lag"),
        *["member"] * with_members,
    )
    for one in chosen:
        offsets = one.offsets
        numbers = (offsets.begin, offsets.committed, offsets.end) if offsets else (None,) * 3
        table.add_row(
            Text(_name(one)),
            *["-" if number is None else f"{number:,}" for number in (*numbers, one.lag)],
            *[Text("-" if one.member_id is None else names[one.member_id])] * with_members,
        )
    return table


def _name(one: PartitionLag) -> str:
    return f"{shown(one.tp.topic)}-{one.tp.partition}"


def _more(more: int, *, everything: bool) -> list[Text | Table]:
    hint = "" if everything else "; --all shows them"
    return [] if more <= 0 else [Text(f"… and {more:,} more{hint}", style="dim")]
