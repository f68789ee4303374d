"""Formats plans for stateful members: the table, and the growth of the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bench.stateful.problems import EVENTS, GROWTH, WARM_UPS, Row, Size
from bench.table import as_markdown, faster, ms

HEAD = (
    "tasks x members",
    "event",
    "**plan**",
    "rounds (bound)",
    "copies (least)",
    "moved",
    "hand-overs",
    "Streams' plan",
    "rounds",
    "copies",
    "moved",
    "hand-overs",
    "faster",
)
SHORT_HEAD = ("tasks x members", "event", "ours", "rounds, copies", "Streams", "rounds, copies")
PAGE_COLUMNS = (0, 1, 2, 3, 4, 7, 8, 9)
LEGEND = (
    "*plan*: milliseconds, median (first in the process). *rounds*: plans until the target is reached; "
    "the bound is least copies / {warmups} + 1. *copies* of state that members begin to build; no "
    "balanced placement needs fewer than the least."
)
MOVES_LEGEND = (
    " *moved*: active tasks whose member changed in the end; *hand-overs*: all changes on the way. Tasks "
    "of a member that left count from their next owner on. `-`: not measured."
)
CUT = " `> n`: Kafka Streams had not ended after {seconds:g} s of rounds."
GROWTH_HEAD = ("tasks x members", *EVENTS.values())


def cells(row: Row) -> list[str]:
    """Return a row of the table."""
    ours, theirs = row["ours"], row.get("streams", {})
    return [
        _size(row),
        EVENTS[row["event"]],
        _plan(ours),
        f"{ours['rounds']:,} ({ours['bound']:,})",
        f"{ours['built']:,} ({ours['least']:,})",
        f"{ours['moved']:,}",
        f"{ours['handed']:,}",
        _plan(theirs),
        *(_count(theirs, name) for name in ("rounds", "built", "moved", "handed")),
        faster(_total(ours), _total(theirs)),
    ]


def short_cells(row: Row) -> list[str]:
    """Return one line for a terminal."""
    ours, theirs = row["ours"], row.get("streams", {})
    return [
        _size(row),
        EVENTS[row["event"]],
        *(
            text
            for facts in (ours, theirs)
            for text in (_plan(facts), f"{_count(facts, 'rounds')}, {_count(facts, 'built')}")
        ),
    ]


def played(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with rounds, for the first table; the other rows only time the plan."""
    return [row for row in rows if "rounds" in row["ours"]]


def markdown(rows: list[Row], *, selected: bool = False) -> str:
    """Return legend and tables in Markdown, or only the part in ``docs/benchmarks.md`` if ``selected``."""
    seconds = max((row.get("streams", {}).get("seconds", 0) for row in rows), default=0)
    legend, cut = LEGEND.format(warmups=WARM_UPS), CUT.format(seconds=seconds) if seconds else ""
    shown = played(rows)
    if selected:
        shown = [row for row in shown if (row["tasks"], row["members"]) == (10_000, 100)] or shown
        head, *body = ([line[column] for column in PAGE_COLUMNS] for line in (HEAD, *map(cells, shown)))
        return f"{legend}{cut}\n\n{as_markdown(head, body, words=2)}"
    text = f"{legend}{MOVES_LEGEND}{cut}\n\n{as_markdown(HEAD, map(cells, shown), words=2)}"
    if lines := growth_cells(rows):
        table = as_markdown(GROWTH_HEAD, lines, words=1)
        text += f"\nHow the plan's time grows, in tasks and in members (ms):\n\n{table}"
    return text


def growth_cells(rows: Iterable[Row]) -> list[list[str]]:
    """Return a line for each measured size, with our median for each event."""
    times: dict[Size, dict[str, str]] = {}
    for row in rows:
        medians = times.setdefault(Size(row["tasks"], row["members"]), {})
        medians[row["event"]] = ms(row["ours"]["warm"])
    sizes = [size for size in dict.fromkeys(GROWTH) if size in times]
    if len(sizes) < 2:
        return []
    return [
        [f"{size.tasks:,} x {size.members:,}", *(times[size].get(event, "-") for event in EVENTS)]
        for size in sizes
    ]


def _size(row: Row) -> str:
    return f"{row['tasks']:,} x {row['members']:,}"


def _plan(facts: dict[str, Any]) -> str:
    if "failed" in facts:
        return "failed"
    if "cut" in facts:
        return f"> {facts['cut']:g} s"
    if "first" not in facts:
        return "-"
    return f"{ms(facts['warm'])} ({ms(facts['first'])})" if "warm" in facts else f"({ms(facts['first'])})"


def _count(facts: dict[str, Any], name: str) -> str:
    if name not in facts or (name == "moved" and not facts["settled"]):
        return "-"
    return f"{'' if facts['settled'] else '> '}{facts[name]:,}"


def _total(facts: dict[str, Any]) -> dict[str, Any]:
    return {("total" if name == "warm" else name): value for name, value in facts.items()}
