"""The report of ``size`` as JSON and as lines for a terminal.  Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.common import without_figures
from kafka_assignors.cli.size.load import Forecasts
from kafka_assignors.cli.tables import ROWS, Columns, counted, duration, partition_name
from kafka_assignors.plan import shown
from kafka_assignors.simulation.sizing import Cost, LatePartition, Least, Sizing

VERSION = 1


@dataclass(frozen=True, slots=True)
class SizeReport:
    """The size of a group at one moment."""

    group_id: str
    time: str  # of the look or of the recording's end, ISO 8601
    strategy: str  # the sizes were planned with it
    sizing: Sizing
    is_measured: bool  # the rate of a member was measured or reported, not given
    forecasts: Forecasts | None = None  # of the later steps; None: current arrivals are assumed to continue
    notes: tuple[str, ...] = ()  # a sentence each
    recorded: bool = False  # the load is from a recording
    oldest_s: float | None = None  # age of the oldest unread record, 0 if there is none; None: unknown
    by_load: bool = False  # the strategy plans with arrivals in addition to lag
    is_kept: bool = False  # from an earlier look, because the last look gave no size
    took_s: float = 0.0  # the look and the simulations; 0: not measured

    @property
    def is_fine(self) -> bool:
        """Whether the advised size holds the target, the group has that size, and no record is late.

        False also if the group's plan is too old.  A recorded group of unknown size is judged by the advice
        alone.
        """
        is_unknown = self.recorded and self.sizing.members is None
        is_right = self.sizing.is_right and self.sizing.old_plan is None
        return self.sizing.holds and (is_right or is_unknown) and not self.is_late

    @property
    def is_late(self) -> bool:
        """Whether a record has waited longer than the target already."""
        return self.oldest_s is not None and self.oldest_s > self.sizing.target.max_time_lag_s

    def with_notes(self, *notes: str) -> SizeReport:
        """Return the report with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def problems(self) -> dict[str, str]:
        """Map an id to the line of each warning or note; the id is the same in later reports."""
        return dict(_warnings(self))

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--output json`` prints."""
        sizing = self.sizing
        return {
            "version": VERSION,
            "time": self.time,
            "group": self.group_id,
            "strategy": self.strategy,
            "by_load": self.by_load,
            "max_time_lag_s": sizing.target.max_time_lag_s,
            "headroom": sizing.target.headroom,
            "rate": round(sizing.rate, 3),
            "rate_measured": self.is_measured,
            "members": sizing.members,
            "advised": sizing.advised,
            "holds": sizing.holds,
            "old_plan": _rounded(sizing.old_plan),
            "horizon": _least(sizing.horizon),
            "steps": [
                {"starts_s": step.starts_s, "arriving": round(step.arriving, 3), **_least(step.least)}
                for step in sizing.steps
            ],
            "hot": [{**asdict(hot), "arriving": round(hot.arriving, 3)} for hot in sizing.hot],
            "behind": sizing.behind,
            "oldest_s": None if self.oldest_s is None else round(self.oldest_s, 3),
            "forecasts": _rounded(self.forecasts),
            "stay": _rounded(sizing.stay),
            "scale": _rounded(sizing.scale),
            "notes": list(self.notes),
        }


def _least(least: Least) -> dict[str, Any]:
    return {"members": least.members, "limit": _rounded(least.reason), "missed": _rounded(least.missed)}


def _rounded(figures: LatePartition | Cost | Forecasts | None) -> dict[str, Any] | None:
    if figures is None:
        return None
    values = asdict(figures)
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def size_lines(report: SizeReport) -> Lines:
    """Return the report for a terminal."""
    sizing = report.sizing
    parts: list[Text | Columns] = [Text(headline(report), style="bold"), Text()]
    parts += [_table(sizing), Text()]
    parts += [Text(line, style="yellow") for _, line in _warnings(report)]
    how = "as measured" if report.is_measured else "as given"
    free = f", {sizing.target.headroom:.0%} of it kept free" if sizing.target.headroom else ""
    if report.oldest_s and not report.is_late:
        parts.append(Text(_oldest(report)))
    parts += [Text(line) for line in _forecast_lines(report)]
    member = "an added member" if sizing.fastest_rate > sizing.rate else "a member"
    parts.append(Text(f"{member} reads {sizing.rate:,.1f} records/s, {how}{free}"))
    parts += [Text(_cost_line(cost, sizing.members)) for cost in (sizing.stay, sizing.scale) if cost]
    return Lines(*parts)


def headline(report: SizeReport) -> str:
    """Return the advice in one line."""
    sizing = report.sizing
    lag, members = duration(1000 * sizing.target.max_time_lag_s), counted(sizing.advised, "member")
    advice = members
    if sizing.is_right:
        advice = f"{members}, the right size"
    elif sizing.members is not None:
        advice = (
            f"{'grow' if sizing.members < sizing.advised else 'shrink'} from {sizing.members:,} to {members}"
        )
    caveat = "" if sizing.old_plan is None else "; its plan is too old"
    if not sizing.holds:
        caveat = ", which no size holds for all partitions"
    return f"{shown(report.group_id)}: {advice} for a time lag of {lag}{caveat}"


def _table(sizing: Sizing) -> Columns:
    table = Columns("from", ">records/s", ">members", "limit")
    for step in sizing.steps:
        starts = f"+{duration(1000 * step.starts_s)}" if step.starts_s else "now"
        least = step.least
        table.add_row(starts, f"{step.arriving:,.1f}", f"{least.members:,}", _reason(least.reason))
    if len(sizing.steps) > 1:
        least = sizing.horizon
        table.add_row("all of it", "", f"{least.members:,}", _reason(least.reason))
    return table


def _reason(reason: LatePartition | None) -> str:
    if reason is None:
        return "-"
    name = partition_name(reason.topic, reason.partition)
    load = f"{reason.member_arriving:,.1f} of {reason.rate:,.1f} records/s"
    alone = f", {reason.arriving:,.1f} of it alone" if reason.is_mostly_one_partition else ""
    return (
        f"with {reason.members:,}, {name} waits {duration(1000 * reason.time_lag_s)}: "
        f"its member has {counted(reason.member_partitions, 'partition')}, {load}{alone}"
    )


def _warnings(report: SizeReport) -> Iterator[tuple[str, str]]:
    """Yield an id and the line of each warning or note.  An id does not depend on the figures of its line."""
    sizing = report.sizing
    free = sizing.fastest_rate * (1 - sizing.target.headroom)
    member = "the fastest member" if sizing.fastest_rate > sizing.rate else "one member"
    for hot in sizing.hot[:ROWS]:
        name = partition_name(hot.topic, hot.partition)
        yield (
            f"hot {name}",
            f"{name} receives {hot.arriving:,.1f} records/s, more than the {free:,.1f} that {member} reads"
            f"{' with headroom; it keeps up without' if hot.held else ''}: "
            f"{shown(hot.topic)} has {hot.partitions:,} partitions and needs {hot.enough:,}",
        )
    if len(sizing.hot) > ROWS:
        others = counted(len(sizing.hot) - ROWS, "more partition")
        yield "hot", f"and {others} like these (--output json lists them)"
    if (old := sizing.old_plan) is not None:
        enough = counted(old.members, "member")
        yield "plan", f"the plan is too old: after a rebalance {enough} would be enough; now, {_reason(old)}"
    if (missed := sizing.missed) is not None:
        yield "missed", f"{report.strategy} does not hold the time lag: {_reason(missed)}"
    if sizing.behind:
        behind = counted(sizing.behind, "partition")
        yield "behind", f"the lag of {behind} is more than one member can read in time"
    if report.is_late:
        yield "late", f"{_oldest(report)}, longer than the target: sizes count its wait from now"
    yield from ((without_figures(note), note) for note in report.notes)


def _oldest(report: SizeReport) -> str:
    return f"the oldest unread record has waited {duration(1000 * (report.oldest_s or 0))}"


def _forecast_lines(report: SizeReport) -> Iterator[str]:
    forecasts = report.forecasts
    if forecasts is None:
        yield "later steps: no forecasts, so current arrivals are assumed to continue"
        return
    when = report.time if report.recorded else f"{duration(1000 * forecasts.age_s)} ago"
    period = duration(1000 * forecasts.period_s)
    yield (
        f"later steps: forecasts of {shown(forecasts.source)} from {when}, "
        f"for {period} and {counted(forecasts.partitions, 'partition')}"
    )
    if forecasts.mean_from_s is not None:
        yield (
            f"the rows from +{duration(1000 * forecasts.mean_from_s)} on use the mean of the forecasts over "
            f"{period}: arrivals that rise in that time may need more members"
        )


def _cost_line(cost: Cost, members: int | None) -> str:
    waits = f"records wait up to {duration(1000 * cost.time_lag_s)}"
    if cost.members == members:
        return f"stay at {cost.members:,}: {waits}"
    moves = f"{counted(cost.moved, 'move')}, {counted(cost.rebalances, 'round')}"
    return f"scale to {cost.members:,}: {waits}; {moves}, {cost.pause_s:,.1f} member-seconds of pause"
