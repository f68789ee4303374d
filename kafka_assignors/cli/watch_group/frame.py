"""One screen of a group as values and text, fitted to the terminal's width.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from textwrap import wrap
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from kafka_assignors.cli.tables import counted, partition_name
from kafka_assignors.cli.watch_group.history import (
    OwnerNames,
    SeenRebalance,
    generation,
    name_of,
    owner_names,
    state_name,
)
from kafka_assignors.cli.watch_group.source import Observation
from kafka_assignors.cli.watch_group.text import (
    causes_in_words,
    cut,
    facts_of,
    label,
    middle,
    spans,
    time_of_day,
)
from kafka_assignors.lag.fetch.group import REBALANCING
from kafka_assignors.plan import TopicPartition, shown
from kafka_assignors.plan.cause import Cause

_TROUBLE_LINES = 2  # maximum lines of an error
_LEAST_LIST = 16  # minimum columns for a member's partitions
_LATE_S = 2.0  # the age of the lag is shown if it exceeds the interval between looks by more than this


class Sort(Enum):
    """Order of the rows."""

    NAME = "name"
    LAG = "lag"
    COUNT = "count"
    HOST = "host"
    OWNER = "owner"

    def following(self, columns: Mapping[Sort, str]) -> Sort:
        """Return the next order of a table with these columns."""
        orders = list(columns)
        return orders[(orders.index(self) + 1) % len(orders)] if self in columns else orders[0]


OF_MEMBERS = {Sort.NAME: "member", Sort.LAG: "lag", Sort.COUNT: "count", Sort.HOST: "host"}
OF_PARTITIONS = {Sort.NAME: "partition", Sort.LAG: "lag", Sort.OWNER: "member"}
"""Order -> the column that it sorts by."""


class Column(NamedTuple):
    """A column of a table, its width without padding."""

    name: str
    width: int
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """A table fitted to the terminal's width.  It is wider only if its titles and numbers do not fit."""

    columns: list[Column]
    cells: list[list[str]]


@dataclass(frozen=True, slots=True)
class Frame:
    """The content of one screen.  Times are seconds since 1970."""

    last: Observation
    owners: OwnerNames  # when the group was last stable
    rebalances: tuple[SeenRebalance, ...]  # in the order of time
    opened_s: float  # when the view opened
    rebalancing_s: float | None = None  # first look during the current rebalance; None: the group is stable
    interval_s: float = 1.0  # between two looks
    trouble: str = ""  # why looks after ``last`` failed; empty: none failed

    def head(self, width: int, frozen: bool, now_s: float) -> list[Text]:
        """Return the lines above the table: the group, its totals, its last rebalance, and problems."""
        group = self.last.snapshot.group
        state = state_name(group)
        state_style = "yellow" if state in REBALANCING else "green"
        title = Text.assemble(
            (middle(shown(group.group_id), max(width // 3, 12)), "bold"), "  ", (shown(state), state_style)
        )
        if group.strategy:
            title.append(f"  {shown(group.strategy)}")
        if (reported := generation(group)) is not None:
            title.append(
                f"  generation ≥ {reported}" if group.epoch is None else f"  epoch {reported} (KIP-848)"
            )
        look_time = time_of_day(self.last.snapshot.time_s, now_s)
        clock = f"{look_time} UTC"
        title.append(" " * max(width - title.cell_len - len(clock), 2) + clock)
        lines = [title, Text(self._totals()), Text(self._last_rebalance(now_s))]
        if frozen:
            lines.append(Text("frozen: press f to go on; rebalances are still recorded", "reverse"))
        if self.trouble:
            age_s = max(now_s - self.last.snapshot.time_s, 0)
            since = f"not read since {look_time}, {age_s:.0f} s ago: "
            lines += [Text(part, "bold red") for part in wrap(since + self.trouble, width)[:_TROUBLE_LINES]]
        notes = self._lag_notes(now_s)
        if group.hides_members:
            notes.append("the broker does not describe the members of this group")
        if any(not member.readable for member in group.members):
            notes.append("the assignments of some members cannot be read: their partitions are unknown")
        lines += [Text(note, "yellow") for note in notes]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return lines

    def members(self, sort: Sort, width: int) -> Rows:
        """Return a row for each member: name, host, number of partitions, lag, and its partitions."""
        is_stable = self.rebalancing_s is None
        lags = self.last.lag.lags
        owned: dict[str, list[TopicPartition]] = {}
        for tp, owner in (owner_names(self.last.snapshot.group) if is_stable else self.owners).items():
            owned.setdefault(owner, []).append(tp)
        rows = []
        for member in self.last.snapshot.group.members:
            tps = sorted(owned.get(name_of(member), ()))
            lag = sum(lags.get(tp, 0) for tp in tps)
            numbers = [f"{len(tps):,}", _sum(tps, lags)] if member.readable else ["?", "?"]
            keys = {Sort.LAG: (-lag,), Sort.COUNT: (-len(tps),), Sort.HOST: (member.host,)}
            cells = [label(name_of(member)), shown(member.host), *numbers, spans(tps)]
            rows.append(((*keys.get(sort, ()), name_of(member)), cells))
        rows.sort(key=lambda row: row[0])
        names = ["member", "host", "count", "lag", "partitions" if is_stable else "partitions before"]
        return _fitted(names, {2, 3}, [cells for _, cells in rows], OF_MEMBERS.get(sort, "member"), width)

    def partitions(self, sort: Sort, width: int) -> Rows:
        """Return a row for each partition: name, lag, owner; during a rebalance, the owner before it."""
        owners = owner_names(self.last.snapshot.group) if self.rebalancing_s is None else self.owners
        lags = self.last.lag.lags
        tps = sorted({*owners, *self.last.partitions})
        if sort is Sort.LAG:
            tps.sort(key=lambda tp: -lags.get(tp, 0))
        elif sort is Sort.OWNER:
            tps.sort(key=lambda tp: owners.get(tp, ""))
        cells = [[partition_name(*tp), _sum([tp], lags), label(owners.get(tp, "-"))] for tp in tps]
        member = "member" if self.rebalancing_s is None else "member before"
        sorted_by = member if sort is Sort.OWNER else OF_PARTITIONS.get(sort, "partition")
        return _fitted(["partition", "lag", member], {1}, cells, sorted_by, width, shorten=middle)

    def _totals(self) -> str:
        group = self.last.snapshot.group
        tps = {*self.owners, *owner_names(group), *self.last.partitions}
        topics = {tp.topic for tp in tps}
        lags = self.last.lag.lags
        totals = f"{counted(len(group.members), 'member')}, {counted(len(tps), 'partition')} of "
        totals += f"{counted(len(topics), 'topic')}, lag {_sum(self.last.partitions, lags)}"
        if any(lags.values()):
            worst = max(lags, key=lambda tp: lags[tp])
            totals += f", largest {lags[worst]:,} on {partition_name(*worst)}"
        return totals

    def _lag_notes(self, now_s: float) -> list[str]:
        """Return a note with the age of the lag if it is old, and why the lag is old or partly unknown."""
        lag, notes = self.last.lag, []
        look_s = self.last.snapshot.time_s
        if lag.time_s is not None and look_s - lag.time_s > self.interval_s + _LATE_S:
            notes.append(f"lag read {max(now_s - lag.time_s, 0):.0f} s ago")
        return [": ".join([*notes, lag.problem])] if lag.problem else notes

    def _last_rebalance(self, now_s: float) -> str:
        if self.rebalancing_s is not None:
            return f"rebalancing since {time_of_day(self.rebalancing_s, now_s)}"
        if not self.rebalances:
            return f"no rebalance seen since {time_of_day(self.opened_s, now_s)}, when this view opened"
        rebalance = self.rebalances[-1]
        causes = causes_in_words(rebalance)
        if len(self.rebalances) > 1 and [cause.cause for cause in rebalance.causes] == [Cause.SECOND_ROUND]:
            causes += f" after {causes_in_words(self.rebalances[-2])}"
        what = "last rebalance" if rebalance.is_certain else "last change"
        return f"{what} {time_of_day(rebalance.time_s, now_s)}, {facts_of(rebalance)}: {causes}"


def _fitted(
    names: list[str],
    numbers: set[int],
    cells: list[list[str]],
    sorted_by: str,
    width: int,
    *,
    shorten: Callable[[str, int], str] = cut,
) -> Rows:
    """Fit a table into a width: shorten names and hosts in the middle, and the last column by ``shorten``."""
    titles = [f"{name} ▼" if name == sorted_by else name for name in names]
    widths = [max([cell_len(title), *(cell_len(row[i]) for row in cells)]) for i, title in enumerate(titles)]
    texts = [i for i in range(len(names) - 1) if i not in numbers]
    padding = 2 * len(names)  # 1 on both sides of each column
    room = width - padding - min(widths[-1], _LEAST_LIST)
    while sum(widths[:-1]) > room:
        wider_than_title = [i for i in texts if widths[i] > cell_len(titles[i])]
        if not wider_than_title:
            break
        widths[max(wider_than_title, key=lambda i: widths[i])] -= 1
    widths[-1] = max(width - padding - sum(widths[:-1]), len(titles[-1]))
    fitted = []
    for row in cells:
        kept = [text if i in numbers else middle(text, widths[i]) for i, text in enumerate(row[:-1])]
        fitted.append([*kept, shorten(row[-1], widths[-1])])
    return Rows([Column(title, widths[i], i in numbers) for i, title in enumerate(titles)], fitted)


def _sum(tps: Collection[TopicPartition], lags: Mapping[TopicPartition, int]) -> str:
    """Return the known lag of partitions, with a mark if the lag of some is unknown."""
    known = [lags[tp] for tp in tps if tp in lags]
    if tps and not known:
        return "?"
    return f"{sum(known):,}" + "+?" * (len(known) < len(tps))
