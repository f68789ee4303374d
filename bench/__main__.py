"""``make bench``: times plans beside kafka-python, Java and Kafka Streams, and the fetching of lag.

docs/benchmarks.md describes the measurements.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import table
from bench.javapeer import JavaPeer, NoJavaError, java_peer
from bench.lag import fetching
from bench.machine import machine
from bench.problems import PHASES, SIZES, Problem, select
from bench.programs import exit_on_sigterm
from bench.report import Report
from bench.run import GROWTH_PHASES, OURS, PEERS, Bench, Row
from bench.stateful import problems as stateful
from bench.stateful import table as stateful_table
from bench.stateful.streams_peer import streams_peer

LAG, STATEFUL = "lag", "stateful"


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Parse and check the arguments."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--patience", type=float, default=10.0, metavar="S",
        help="seconds that a call of kafka-python may take; Java's first call may take twice as long "
        "(default 10)",
    )  # fmt: skip
    parser.add_argument(
        "--problems", nargs="+", default=[*SIZES, "growth", LAG, STATEFUL], metavar="WHICH",
        help=f"{', '.join(SIZES)}, growth, {LAG} (fetching it), {STATEFUL} (plans for members with state), "
        "or part of a problem's name; by default all",
    )  # fmt: skip
    parser.add_argument("--phases", nargs="+", default=list(PHASES), choices=PHASES, metavar="PHASE",
                        help=f"some of: {', '.join(PHASES)}".replace("%", "%%"))  # fmt: skip
    parser.add_argument("--no-java", action="store_true", help="leave Java out")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), metavar="FILE",
                        help="where the figures go; table and pictures beside it")  # fmt: skip
    parser.add_argument("--render", action="store_true", help="render the figures in --out without measuring")
    parser.add_argument("--docs", action="store_true", help="also put the results into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    if not 0 < options.patience < float("inf"):
        parser.error("--patience: a number of seconds, more than 0")
    if options.render and not options.out.exists():
        parser.error(f"--out: no file {options.out}")
    try:
        options.table, options.growth = select(
            word for word in options.problems if word not in (LAG, STATEFUL)
        )
    except ValueError as error:
        parser.error(str(error))
    return options


def repeatable(options: argparse.Namespace) -> list[str]:
    """Return the non-default arguments with which the measurement can be repeated."""
    default = options_of([])
    words = [] if options.patience == default.patience else ["--patience", f"{options.patience:g}"]
    words += [] if options.problems == default.problems else ["--problems", *options.problems]
    words += [] if options.phases == default.phases else ["--phases", *options.phases]
    return [*words, "--no-java"] if options.no_java else words


def find_java(options: argparse.Namespace, report: Report, folder: Path) -> JavaPeer | None:
    """Return the Java peer; None if it is unwanted or missing, with a note in the report."""
    if options.no_java:
        report.notes.append("Java was not measured: --no-java")
        return None
    try:
        return java_peer(folder)
    except NoJavaError as reason:
        report.notes.append(f"Java was not measured: {reason}")
        return None


def measure(options: argparse.Namespace, console: Console) -> Report:
    """Measure all selected problems; save after each row."""
    report = Report(machine(), repeatable(options))
    # The pictures reuse the rows of the table.
    known = options.table if set(GROWTH_PHASES) <= set(options.phases) else []
    growth: list[Problem] = [problem for problem in options.growth if problem not in known]
    columns = [
        TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
    ]  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as place,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        folder = Path(place)
        rows = len(options.table) * len(options.phases) + len(growth) * len(GROWTH_PHASES)
        task = progress.add_task("getting ready", total=rows)
        java = find_java(options, report, folder) if rows else None
        for note in report.notes:
            console.print(note, markup=False)
        bench = Bench(
            options.patience,
            java,
            lambda text: progress.update(task, description=text),
            folder,
            report.machine,
        )
        plan = [
            *((problem, options.phases, (*OURS, *PEERS), report.rows) for problem in options.table),
            *((problem, GROWTH_PHASES, OURS[:1], report.growth) for problem in growth),
        ]
        for problem, phases, who, rows_of_report in plan:
            for row in bench.rows(problem, phases, who):
                rows_of_report.append(row)
                report.save(options.out)
                progress.advance(task)
                console.print(
                    f"{problem.name}, {row['phase']}:", line_of(row, who), markup=False, soft_wrap=True
                )
        if LAG in options.problems:
            measure_lag(report, options.out, lambda text: progress.update(task, description=text))
        if STATEFUL in options.problems:
            measure_stateful(
                options, report, folder, console, lambda text: progress.update(task, description=text)
            )
    report.save(options.out)
    return report


def measure_lag(report: Report, out: Path, now: Callable[[str], None]) -> None:
    """Measure the fetching of lag, or note why it cannot be measured."""
    try:
        for row in fetching.measure(now):
            report.lag.append(row)
            report.save(out)
    except fetching.NotMeasuredError as reason:
        report.notes.append(f"fetching lag was not measured: {reason}")


def measure_stateful(
    options: argparse.Namespace, report: Report, folder: Path, console: Console, now: Callable[[str], None]
) -> None:
    """Measure plans for stateful members, and Kafka Streams' plans if wanted and available."""
    streams = None
    if not options.no_java:
        try:
            streams = streams_peer(folder)
            report.machine["kafka_streams"] = streams.version
        except NoJavaError as reason:
            report.notes.append(f"Kafka Streams was not measured: {reason}")
            console.print(report.notes[-1], markup=False)
    played = stateful.rows(streams, options.patience, now)
    for row in chain(played, stateful.growth(report.stateful, now)):
        if version := row.get("streams", {}).pop("java", None):
            report.machine["java"] = version
        report.stateful.append(row)
        report.save(options.out)
        console.print(", ".join(stateful_table.short_cells(row)), markup=False, soft_wrap=True)


def line_of(row: Row, who: Sequence[str]) -> str:
    """Return the times of a measured row, as a line for the terminal."""
    return "; ".join(f"{planner} {table.time_cell(row[planner])}" for planner in who if planner in row)


def show(report: Report, console: Console) -> None:
    """Print the main figures of all rows as tables, in the width of the terminal."""
    if report.rows:
        shown = Table(*table.SHORT_HEAD, title="ms, assign() and encoding: sticky / cooperative")
        for row in report.rows:
            shown.add_row(*table.short_cells(row))
        console.print(shown)
    if report.lag:
        shown = Table(
            *(name.strip("*") for name in fetching.HEAD), title="ms, fetching lag: median (longest)"
        )
        for row in report.lag:
            shown.add_row(*fetching.cells(row))
        console.print(shown)
    if lines := stateful_table.played(report.stateful):
        shown = Table(*stateful_table.SHORT_HEAD, title="ms, plans for stateful members: median (first)")
        for row in lines:
            shown.add_row(*stateful_table.short_cells(row))
        console.print(shown)
    for line in table.findings(report.rows) if report.rows else ():
        console.print(line, markup=False)


def main(arguments: list[str]) -> None:
    """Measure or read the figures, and print them."""
    options = options_of(arguments)
    exit_on_sigterm()
    console = Console()
    report = Report.load(options.out) if options.render else measure(options, console)
    show(report, console)
    written = [options.out, *report.render(options.out), *(report.publish() if options.docs else [])]
    console.print("written:", ", ".join(map(str, written)), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main(sys.argv[1:])
