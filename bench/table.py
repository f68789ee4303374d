"""Formats rows; the terminal and ``docs/benchmarks.md`` have the same cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.run import JAVA, KAFKA_PYTHON, OURS, PEERS, Row

HEAD = (
    "partitions x members",
    "phase",
    "decode",
    "**sticky**",
    "**cooperative**",
    "memory",
    "kafka-python sticky",
    "Java sticky",
    "Java cooperative",
    "faster than kafka-python",
    "faster than Java",
    "moved",
)

SHORT_HEAD = ("group", "phase", "ours", "kafka-python", "Java", "moved")
PAGE_HEAD = ("partitions x members", "phase", "**ours**", "kafka-python", "Java")

PHASES_ON_PAGE = ("fresh", "one joins")
LEGEND = (
    "Milliseconds, medians: `assign()` / with encoding (first call in the process). **Bold** is ours. "
    "`decode` and `memory` (peak MB of the call): our sticky / cooperative. `> 10 s`: ended; `(> 10 s)`: "
    "skipped, because a smaller group was ended, or its time predicts more than twice this; `-`: not "
    "measured. *Faster*: with encoding, sticky / cooperative. `moved`: partitions taken from live members, "
    "ours / kafka-python's / Java's; `†`: less fair than ours, `‡`: fairer."
)
PAGE_LEGEND = (
    "Milliseconds of `assign()` with encoding, medians; ours and Java's: sticky / cooperative. `> 10 s`: "
    "ended; `(> 10 s)`: skipped, because a smaller group was ended or predicts more than twice this."
)


def cells(row: Row) -> list[str]:
    """Return one line of the table."""
    return [
        str(row["problem"]),
        str(row["phase"]),
        _pair(ms(_fact(row, planner, "decode")) for planner in OURS),
        *(time_cell(row.get(planner)) for planner in OURS),
        _pair(_megabytes(_fact(row, planner, "memory")) for planner in OURS),
        *(time_cell(row.get(peer)) for peer in PEERS),
        faster(row.get("sticky"), row.get(KAFKA_PYTHON)),
        _pair(faster(row.get(mine), row.get(java)) for java, mine in JAVA.items()),
        moved_cell(row),
    ]


def short_cells(row: Row) -> list[str]:
    """Return one line for a terminal: only the milliseconds with the encoding."""
    return [
        str(row["problem"]),
        str(row["phase"]),
        _pair(total_cell(row.get(planner)) for planner in OURS),
        total_cell(row.get(KAFKA_PYTHON)),
        _pair(total_cell(row.get(java)) for java in JAVA),
        moved_cell(row),
    ]


def markdown(rows: Iterable[Row], *, selected: bool = False) -> str:
    """Return the table in Markdown, or only the columns of ``docs/benchmarks.md`` if ``selected``."""
    head = PAGE_HEAD if selected else HEAD
    body = (short_cells(row)[: len(head)] if selected else cells(row) for row in rows)
    return as_markdown(head, body, words=2)


def as_markdown(head: Sequence[str], lines: Iterable[Sequence[str]], *, words: int) -> str:
    """Return a table in Markdown; the columns after the first ``words`` hold numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))


def ms(seconds: float | None) -> str:
    """Format seconds as milliseconds with three significant digits."""
    if seconds is None:
        return "-"
    value = 1000 * seconds
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"


def time_cell(facts: dict[str, Any] | None) -> str:
    """Format a planner's times: the plan / with the encoding (the first time)."""
    if not facts or "total" not in facts:
        return total_cell(facts)
    return f"{ms(facts['assign'])} / {total_cell(facts)} ({ms(facts['first'])})"


def total_cell(facts: dict[str, Any] | None) -> str:
    """Format a planner's time with the encoding, or the reason that it is unknown."""
    if not facts:
        return "-"
    if "failed" in facts:
        return "failed"
    if "cut" in facts:
        return f"> {facts['cut']:g} s"
    if "skipped" in facts:
        return f"(> {facts['skipped']:g} s)"
    return ms(facts["total"]) if "total" in facts else f"({ms(facts['first'])})"


def faster(ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> str:
    """Return how many times faster ours is; a lower bound if the peer was ended."""
    if not ours or not theirs or "total" not in ours:
        return "-"
    least = theirs.get("cut", theirs.get("skipped"))
    seconds = theirs.get("total", theirs.get("first", least))
    if seconds is None:
        return "-"
    times = seconds / ours["total"]
    digits = 0 if times >= 9.95 else 1 if times >= 0.995 else 2
    return f"{'> ' if least is not None else ''}{times:,.{digits}f}"


def moved_cell(row: Row) -> str:
    """Format the moves of each judged planner, with a mark if its plan is less fair than ours, or fairer."""
    ours = _fact(row, "sticky", "quality")
    return _pair(
        _moved(ours, _fact(row, planner, "quality")) for planner in ("sticky", KAFKA_PYTHON, "java sticky")
    )


def _moved(ours: dict[str, Any] | None, quality: dict[str, Any] | None) -> str:
    if ours is None or quality is None:
        return "-"
    if not quality["valid"] or quality["unassigned"]:
        return f"{quality['moved']:,} invalid"
    mark = (
        "" if quality["squares"] == ours["squares"] else "†" if quality["squares"] > ours["squares"] else "‡"
    )
    return f"{quality['moved']:,}{mark}"


def is_on_page(row: Row) -> bool:
    """Whether ``docs/benchmarks.md`` shows a row of a whole run; ``out/bench.md`` shows all rows."""
    problem = row["problem"]
    return (
        problem.startswith(("uniform ", "half "))
        and problem.endswith((" 10,000 x 100", " 1,000,000 x 2,000"))
        and row["phase"] in PHASES_ON_PAGE
    )


def findings(rows: Iterable[Row]) -> list[str]:
    """Summarise the table: plans that are worse or better than ours, and planners that failed."""
    rows = list(rows)
    return [
        *(f"{name}: {_in_words(counts)}" for name, counts in _compared(rows)),
        *(
            f"{row['problem']}, {row['phase']}: {planner} failed"
            for row in rows
            for planner in PEERS
            if _failed(row, planner)
        ),
    ]


def _compared(rows: list[Row]) -> Iterator[tuple[str, dict[str, int]]]:
    for peer in (KAFKA_PYTHON, "java sticky"):
        counts = {
            "plans compared": 0,
            "less fair": 0,
            "fairer": 0,
            "equally fair, moved more": 0,
            "moved less": 0,
        }
        for row in rows:
            ours, theirs = _fact(row, "sticky", "quality"), _fact(row, peer, "quality")
            if ours is None or theirs is None:
                continue
            counts["plans compared"] += 1
            counts["less fair"] += theirs["squares"] > ours["squares"]
            counts["fairer"] += theirs["squares"] < ours["squares"]
            is_equal = theirs["squares"] == ours["squares"]
            counts["equally fair, moved more"] += is_equal and theirs["moved"] > ours["moved"]
            counts["moved less"] += is_equal and theirs["moved"] < ours["moved"]
        yield peer, counts


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def _failed(row: Row, planner: str) -> bool:
    return "failed" in (row.get(planner) or {})


def _fact(row: Row, planner: str, name: str) -> Any:
    return (row.get(planner) or {}).get(name)


def _megabytes(value: float | None) -> str:
    return "-" if value is None else f"{value:,.{0 if value >= 9.95 else 1}f}"


def _pair(parts: Iterable[str]) -> str:
    """Join values with slashes; return one dash if all values are dashes."""
    parts = list(parts)
    return "-" if set(parts) == {"-"} else " / ".join(parts)
