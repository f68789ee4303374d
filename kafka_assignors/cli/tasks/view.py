"""A stateful group's tasks as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.tables import ROWS, Columns, counted, fit_rows, more, short_names
from kafka_assignors.cli.tasks.report import ReportedCopy, TaskReport, TaskRow
from kafka_assignors.plan import shown

_UNREAD = 4  # maximum lines about members without a readable assignment or user data


def task_lines(report: TaskReport, *, everything: bool, timed: bool = False) -> Lines:
    """Return the group and its tasks.

    If there are more tasks than rows, tasks without an active member are chosen first, then tasks with a
    warm-up, then those with the largest lag.
    """
    return _lines(report, len(report.rows) if everything else ROWS, timed=timed)


def fitted_lines(report: TaskReport, console: Console, height: int) -> RenderableType:
    """Return the report with its time, and with as many tasks as fit into ``height`` lines."""
    rows = min(len(report.rows), max(height, 0))
    return fit_rows(lambda most: _lines(report, most, timed=True, hint=""), rows, console, height)


def _lines(report: TaskReport, most: int, *, timed: bool, hint: str = "; --all shows them") -> Lines:
    names = short_names(member.member_id for member in report.group.members)
    rows = sorted(sorted(report.rows, key=_urgency)[:most], key=lambda row: row.task)
    parts: list[Text | Columns] = [_head(report, timed=timed), *_notes(report, names)]
    if rows:
        parts += [Text(), _table(rows, names), *more(len(report.rows) - len(rows), hint=hint)]
    return Lines(*parts)


def _urgency(row: TaskRow) -> tuple[bool, bool, int]:
    return (row.active is not None, not row.warmups, -max((c.lag or 0 for c in _copies(row)), default=0))


def _copies(row: TaskRow) -> list[ReportedCopy]:
    return [*([row.active] if row.active else []), *row.standbys, *row.warmups]


def _head(report: TaskReport, *, timed: bool) -> Text:
    group = report.group
    counts = [
        counted(len(group.members), "member"),
        counted(len(report.rows), "task"),
        counted(sum(len(row.standbys) for row in report.rows), "standby"),
        counted(sum(len(row.warmups) for row in report.rows), "warm-up"),
    ]
    return Text.assemble(
        f"{report.time[11:19]} UTC  " if timed else "",
        (shown(group.group_id), "bold"),
        f": {shown(group.state)}, {', '.join(counts)}",
    )


def _notes(report: TaskReport, names: Mapping[str, str]) -> list[Text]:
    notes = []
    if report.probe_at:
        notes.append(
            Text(f"warm-ups are restoring; the next probing rebalance is at {report.probe_at[11:19]} UTC")
        )
    idle = sum(row.active is None for row in report.rows)
    if idle:
        notes.append(Text(f"{counted(idle, 'task')} without an active member", style="yellow"))
    unread = [f"{names[member_id]}: {shown(why)}" for member_id, why in sorted(report.unread.items())]
    notes += [Text(line, style="yellow") for line in unread[:_UNREAD]]
    return [*notes, *more(len(unread) - _UNREAD, hint=" of these")]


def _table(rows: Iterable[TaskRow], names: Mapping[str, str]) -> Columns:
    table = Columns("task", "active", "standbys", "warm-ups")
    for row in rows:
        table.add_row(
            f"{shown(row.task[0])}_{row.task[1]}",
            "-" if row.active is None else _named(row.active, names),
            ", ".join(_named(copy, names) for copy in row.standbys) or "-",
            ", ".join(_named(copy, names) for copy in row.warmups) or "-",
        )
    return table


def _named(copy: ReportedCopy, names: Mapping[str, str]) -> str:
    """Return ``a-1f0c2d34 (12)``: the member and the lag of its copy, records.  A lag of 0 is left out."""
    lag = "?" if copy.lag is None else f"{copy.lag:,}"
    return names[copy.member_id] + f" ({lag})" * (copy.lag != 0)
