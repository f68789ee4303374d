"""``make bench``: how long ``assign()`` takes, beside kafka-python's own sticky assignor in the same run.

Every figure is the median of several runs of the whole ``assign()``: from the members' decoded subscriptions
to the assignment that is sent.  kafka-python is left out (-) where it would need more than ``--patience``
seconds, going by its last, smaller problem of that kind.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from rich.console import Console
from rich.table import Table

from kafka_assignors import StickyAssignor
from tests.bench.problems import PHASES, Plan, Problem, Subscriptions
from tests.joining import cluster, joined, plan_of

PROBLEMS = [
    Problem("uniform", 10, 10, 10),
    Problem("half", 10, 10, 10),
    Problem("uniform", 50, 20, 100),
    Problem("half", 50, 20, 100),
    Problem("uniform", 50, 100, 500),
    Problem("uniform", 100, 100, 100),
    Problem("half", 100, 100, 100),
    Problem("tiers", 100, 100, 100),
    Problem("uniform", 500, 200, 1000),
    Problem("half", 500, 200, 1000),
]


def time_of(assign: Callable[[], Any], *, budget: float = 2.0) -> float:
    """Median seconds of up to seven runs, fewer when they are long."""
    seconds: list[float] = []
    while len(seconds) < 7 and (not seconds or sum(seconds) < budget):
        started = time.perf_counter()
        assign()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def members_of(kind: type[Any], subscriptions: Subscriptions, owned: Plan) -> list[Any]:
    """What a leader of that kind sees: every member of its own kind, with its history."""
    members = []
    for member_id, topics in subscriptions.items():
        assignor = kind()
        if member_id in owned:
            assignor.on_assignment(ConsumerProtocolAssignment(0, sorted(owned[member_id].items()), b""), 5)
        members.append(joined(member_id, assignor.metadata(set(topics))))
    return members


def measure(problem: Problem, patience: float, slow: dict[str, float]) -> dict[str, Any]:
    """One row: seconds by phase, ours and kafka-python's."""
    topics = cluster(problem.counts())
    base: Plan = {}
    row: dict[str, Any] = {"problem": problem.name, "ours": {}, "kafka-python": {}}
    for phase in PHASES:
        subscriptions, owned = problem.after(phase, base)
        members = members_of(StickyAssignor, subscriptions, owned)
        row["ours"][phase] = time_of(partial(StickyAssignor().assign, topics, members))
        if phase == "fresh":
            base = plan_of(StickyAssignor().assign(topics, members))
        size = problem.topics * problem.partitions * problem.members
        expected = slow.get(f"{problem.kind} {phase}", 0.0) * size
        if expected <= patience:
            theirs = members_of(StickyPartitionAssignor, subscriptions, owned)
            taken = time_of(partial(StickyPartitionAssignor().assign, topics, theirs))
            row["kafka-python"][phase] = taken
            slow[f"{problem.kind} {phase}"] = taken / size
    return row


def cell_of(row: dict[str, Any], phase: str) -> str:
    """Our milliseconds / kafka-python's."""
    return " / ".join(
        "-" if seconds is None else f"{1000 * seconds:,.{1 if seconds < 0.1 else 0}f}"
        for seconds in (row["ours"][phase], row["kafka-python"].get(phase))
    )


def table_of(rows: list[dict[str, Any]]) -> Table:
    """For the terminal."""
    table = Table("partitions x members", *PHASES, title="assign(), ms: ours / kafka-python's sticky")
    for row in rows:
        table.add_row(row["problem"], *(cell_of(row, phase) for phase in PHASES))
    return table


def markdown_of(rows: list[dict[str, Any]]) -> str:
    """For ``docs/benchmarks.md``."""
    head = ["partitions x members", *PHASES]
    lines = [head, ["---"] * len(head)]
    lines += [[row["problem"], *(cell_of(row, phase) for phase in PHASES)] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, print, and write the figures to a file."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds kafka-python may take a run")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), help="where the figures go")
    options = parser.parse_args()
    console = Console()
    rows: list[dict[str, Any]] = []
    slow: dict[str, float] = {}
    with console.status("measuring") as status:
        for problem in PROBLEMS:
            status.update(f"measuring {problem.name}")
            rows.append(measure(problem, options.patience, slow))
    console.print(table_of(rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # kB on Linux
    today = time.strftime("%Y-%m-%d")
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {today}, peak {peak} MB"
    console.print(machine)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))
    options.out.with_suffix(".md").write_text(f"{markdown_of(rows)}\n{machine}\n")
    console.print(f"figures: {options.out} and {options.out.with_suffix('.md')}")


if __name__ == "__main__":
    main()
