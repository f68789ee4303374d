"""The lag of groups as tables for a terminal of any width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.cli.lag.report import GroupsReport, Report, oldest, rated_lag, total_rate
from kafka_assignors.cli.tables import (
    MEMBERS,
    ROWS,
    Columns,
    counted,
    duration,
    fit_rows,
    more,
    partition_name,
    short_names,
)
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.lag.rates import Rate
from kafka_assignors.plan import shown

_REASONS = 4  # maximum reasons, a line each
_RATES = (">in/s", ">out/s", ">catch up", ">last commit")


def lag_lines(report: Report, *, everything: bool, timed: bool = False) -> Lines:
    """Return totals, members and partitions; of a large group those with the largest lag."""
    view = _View(report, timed=timed)
    if everything:
        return view.lines(len(report.group.members), len(report.partitions))
    return view.lines(MEMBERS, ROWS)


def watched_lines(report: Report, console: Console, height: int) -> RenderableType:
    """Return the report with its time, and as many members and partitions as fit into ``height`` lines."""
    view = _View(report, timed=True)
    members, partitions = len(report.group.members), len(report.partitions)

    def draw(rows: int) -> Lines:
        member_rows = max(min(members, rows // 2), rows - partitions)
        return view.lines(member_rows, rows - member_rows, hint="")

    return fit_rows(draw, min(members + partitions, max(height, 0)), console, height, least=2)


class _View:
    """Draws a report with a chosen number of rows."""

    def __init__(self, report: Report, *, timed: bool) -> None:
        self._report = report
        owners = [p.member_id for p in report.partitions if p.member_id is not None]  # some may have left
        self._names = short_names(dict.fromkeys([*(m.member_id for m in report.group.members), *owners]))
        self._top = [_head(report, timed=timed), Text(_totals(report))]
        if report.unknown_members:
            note = f"{report.unknown_members}: all commits count, other partitions are unknown"
            self._top.append(Text(note, style="yellow"))
        totals = report.by_member()
        self._largest_members = sorted(report.group.members, key=lambda m: -totals[m.member_id][2])
        self._largest = sorted(report.partitions, key=lambda p: (p.lag is None, -(p.lag or 0), p.tp))

    def lines(self, members: int, partitions: int, hint: str = "; --all shows them") -> Lines:
        """Return the given numbers of members and partitions, those with the largest lag."""
        report, names = self._report, self._names
        parts: list[Text | Columns] = list(self._top)
        if report.group.members:
            hidden = len(report.group.members) - members
            chosen = self._largest_members[:members] if hidden > 0 else report.group.members
            parts += [Text(), _members(report, names, chosen), *more(hidden, hint=hint)]
        if report.partitions:
            hidden = len(report.partitions) - partitions
            if hidden > 0:
                parts.append(Text(f"\nThe {counted(partitions, 'partition')} with the largest lag:"))
            chosen_partitions = self._largest[:partitions] if hidden > 0 else report.partitions
            parts += [Text(), _partitions(chosen_partitions, names), *more(hidden, hint=hint)]
        return Lines(*parts)


def _head(report: Report, *, timed: bool) -> Text:
    group = report.group
    topics = len({partition.tp.topic for partition in report.partitions})
    facts = [
        group.strategy and shown(group.strategy),
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
    lines += _reasons("unknown", [(p, p.missing or "") for p in report.partitions if p.lag is None])
    lines += _times(report)
    resets = sum(p.end is not None and p.committed is None for p in known)
    if resets:
        which = "all" if report.reset == "earliest" else "no"
        lines.append(
            f"{counted(resets, 'partition')} without a commit: {which} records count (--reset {report.reset})"
        )
    if unread := report.unread_topics:
        example = shown(unread[0]) + ", ..." * (len(unread) > 1)
        lines.append(
            f"not counted: commits of {counted(len(unread), 'topic')} that no member reads ({example})"
        )
    return "\n".join(lines)


def _times(report: Report) -> list[str]:
    """Return the lines about the lag in time: its age, its rates, and records near the end of retention."""
    lines = []
    if report.time_lag_ms:
        worst = max(report.partitions, key=lambda partition: partition.seconds or 0)
        lines.append(f"time lag {duration(report.time_lag_ms)}, of {partition_name(*worst.tp)}")
    if report.rate is not None:
        lines.append(_progress(report.rate, report.lag))
    lines += _reasons(
        "time lag unknown",
        [(p, p.seconds_missing) for p in report.partitions if p.seconds_missing is not None],
    )
    if near := report.near_retention:
        example = partition_name(*near[0].tp) + ", ..." * (len(near) > 1)
        lines.append(
            f"retention soon deletes unread records of {counted(len(near), 'partition')} ({example})"
        )
    return lines


def _progress(rate: Rate, lag: int) -> str:
    rates = f"in {rate.records_in:,.1f}/s, out {rate.records_out or 0:,.1f}/s"
    if not lag:
        return rates
    if (catch_up_s := rate.catch_up_s(lag)) is None:
        return f"{rates}: does not catch up"
    return f"{rates}: caught up in {duration(1000 * catch_up_s)}"


def _reasons(what: str, partitions: Iterable[tuple[PartitionLag, str]]) -> list[str]:
    """Return a line for each of the four commonest reasons, with an example, and the number of others."""
    reasons: dict[str, list[PartitionLag]] = {}
    for partition, why in partitions:
        reasons.setdefault(why, []).append(partition)
    lines = []
    for why, affected in sorted(reasons.items(), key=lambda reason: -len(reason[1])):
        example = partition_name(*affected[0].tp) + ", ..." * (len(affected) > 1)
        lines.append(f"{what} for {counted(len(affected), 'partition')} ({example}): {why}")
    others = len(lines) - _REASONS
    return lines if others <= 0 else [*lines[:_REASONS], f"and for {counted(others, 'other reason')}"]


def _members(report: Report, names: Mapping[str, str], members: Iterable[GroupMember]) -> Columns:
    with_instances = any(member.instance_id for member in report.group.members)
    # Member ids mostly begin with the client id, which then needs no column.
    with_clients = any(not member.member_id.startswith(member.client_id) for member in report.group.members)
    with_rates = any(partition.rate is not None for partition in report.partitions)
    table = Columns(
        "member",
        *["instance"] * with_instances,
        *["client"] * with_clients,
        "host",
        ">partitions",
        ">lag",
        ">time lag",
        *_RATES * with_rates,
    )
    totals, partitions_of = report.by_member(), report.partitions_of()
    for member in members:
        owned, unknown, lag = totals[member.member_id]
        partitions = partitions_of[member.member_id]
        table.add_row(
            names[member.member_id],
            *[shown(member.instance_id or "-")] * with_instances,
            *[shown(member.client_id)] * with_clients,
            shown(member.host),
            f"{owned:,}" if member.readable else "?",
            f"{lag:,}{'+?' * bool(unknown)}" if member.readable else "?",
            _age(oldest(partitions)) if member.readable else "?",
            *_rates(total_rate(partitions), rated_lag(lag, unknown)) * with_rates,
        )
    return table


def _partitions(chosen: Collection[PartitionLag], names: Mapping[str, str]) -> Columns:
    with_members = any(partition.member_id is not None for partition in chosen)
    with_rates = any(partition.rate is not None for partition in chosen)
    table = Columns(
        "partition",
        ">begin",
        ">committed",
        ">end",
        ">lag",
        ">time lag",
        *_RATES[-1:] * with_rates,
        *["member"] * with_members,
    )
    for partition in chosen:
        numbers = (partition.begin, partition.committed, partition.end, partition.lag)
        table.add_row(
            partition_name(*partition.tp),
            *["-" if number is None else f"{number:,}" for number in numbers],
            _age(oldest([partition])) + " !" * partition.near_retention,
            *_rates(partition.rate, partition.lag)[-1:] * with_rates,
            *["-" if partition.member_id is None else names[partition.member_id]] * with_members,
        )
    return table


def groups_lines(current: GroupsReport, *, everything: bool, timed: bool = False) -> Lines:
    """Return a row for each group, by name; of more than 20, those with the largest lag.

    With ``everything``, return a row for each group, then the tables of each group.
    """
    return _groups(current, len(current.reports) if everything else ROWS, everything=everything, timed=timed)


def watched_groups_lines(current: GroupsReport, console: Console, height: int) -> RenderableType:
    """Return as many groups as fit into ``height`` lines, those with the largest lag."""
    return fit_rows(
        lambda rows: _groups(current, rows, everything=False, timed=True, hint=""),
        min(len(current.reports), max(height, 1)),
        console,
        height,
    )


def _groups(
    current: GroupsReport, rows: int, *, everything: bool, timed: bool, hint: str = "; --all shows them"
) -> Lines:
    reports = current.reports
    if rows < len(reports):
        reports = tuple(sorted(reports, key=lambda report: -report.lag)[:rows])
    with_rates = any(partition.rate is not None for report in reports for partition in report.partitions)
    numbers = (">members", ">partitions", ">lag", ">time lag", *_RATES * with_rates)
    table = Columns("group", "state", *numbers)
    for report in reports:
        table.add_row(
            shown(report.group.group_id),
            shown(report.group.state),
            f"{len(report.group.members):,}",
            f"{len(report.partitions):,}",
            f"{report.lag:,}{'+?' * bool(report.unknown or report.unknown_members)}",
            _age(report.time_lag_ms) + " !" * bool(report.near_retention),
            *_rates(report.rate, rated_lag(report.lag, report.unknown)) * with_rates,
        )
    parts: list[Text | Columns | Lines] = [Text(f"{current.time[11:19]} UTC")] if timed else []
    parts += [Text(why, style="yellow") for why in current.problems.values()]
    parts += [table, *more(len(current.reports) - rows, hint=hint)]
    if everything:
        for report in reports:
            parts += [Text(), lag_lines(report, everything=True)]
    return Lines(*parts)


def _age(time_lag_ms: float | None) -> str:
    return "-" if time_lag_ms is None else duration(time_lag_ms) if time_lag_ms else "0"


def _seconds(time_s: float | None) -> str:
    return _age(None if time_s is None else 1000 * time_s)


def _rates(rate: Rate | None, lag: int | None) -> list[str]:
    """Return the cells of the columns ``_RATES``."""
    if rate is None:
        return ["-"] * len(_RATES)
    return [
        f"{rate.records_in:,.1f}",
        "-" if rate.records_out is None else f"{rate.records_out:,.1f}",
        _seconds(None if lag is None else rate.catch_up_s(lag)),
        _seconds(rate.commit_unchanged_s),
    ]
