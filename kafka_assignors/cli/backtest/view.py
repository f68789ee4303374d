"""A back-test on a terminal: its progress, a table of the candidates, and the recommendation."""

from __future__ import annotations

from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.cli.tables import ROWS as MOST_ROWS
from kafka_assignors.cli.tables import Columns, more
from kafka_assignors.pipeline.backtest.phrases import (
    ROWS,
    about_figures,
    about_history,
    for_each_group,
    left_out,
    reasons,
    verdict,
)
from kafka_assignors.pipeline.backtest.results import Results


def backtest_lines(results: Results) -> Lines:
    """Return a row for each candidate, the best first, then the recommendation and its reasons."""
    run, candidates = results["run"], results["candidates"]
    parts: list[Text | Columns] = [Text(line) for group in results["groups"] for line in about_history(group)]
    parts += [Text(line) for line in left_out(results)]
    parts.append(
        Text(f"{run['scenarios']:,} scenarios in {run['seconds']:,.1f} s; {about_figures(results)}\n")
    )
    rank, *rows = [row for row in ROWS if row.brief]
    table = Columns(f">{rank.brief}", "strategy", *(f">{row.brief}" for row in rows))
    for candidate in candidates[:MOST_ROWS]:
        figures = (row.show(candidate).replace(" s", "") for row in rows)
        table.add_row(rank.show(candidate), candidate["candidate"], *figures)
    parts += [table, *more(len(candidates) - MOST_ROWS, hint="; results.json has them")]
    parts.append(Text("\ntimes in seconds, lag in records", style="dim"))
    parts.append(Text.assemble("\n", (verdict(results), "bold")))
    parts += [Text(f"  {reason}") for reason in reasons(results)]
    parts += [Text(line) for line in for_each_group(results)]
    parts += [Text(f"note: {note}") for note in results["notes"]]
    return Lines(*parts)


def show_scenarios(view: ProgressView, done: int, total: int, seconds: float) -> None:
    """Show the number of finished scenarios, their total and their rate."""
    rate = f"{done / seconds:,.1f}/s" if done and seconds > 0 else ""
    line = progress_line(done, total, seconds)
    view.update("scenarios", done, total, note=rate, line=line, at_once=done == total)


def progress_line(done: int, total: int, seconds: float) -> str:
    """Return ``scenario 120 of 1,000, 4.0/s, 220 s left``."""
    line = f"scenario {done:,} of {total:,}"
    if not done or seconds <= 0:
        return line
    line += f", {done / seconds:,.1f}/s"
    return line if done == total else f"{line}, {(total - done) * seconds / done:,.0f} s left"
