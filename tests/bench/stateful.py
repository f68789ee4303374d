"""``python -m tests.bench.stateful``: plans for stateful members, beside Kafka Streams' own.

docs/benchmarks.md, "Stateful plans", says what is measured and how.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_assignors.plan.stateful import StatefulOptions, Subtopology, plan_stateful
from tests.bench.javapeer import JavaPeer, NoJavaError
from tests.bench.machine import machine
from tests.bench.streamspeer import play, streams_peer
from tests.stateful_group import SimulatedGroup

SIZES = ("1000x10", "1000x100", "10000x10", "10000x100", "10000x500")
EVENTS = ("new", "join", "leave")
TASKS_OF_A_SUBTOPOLOGY = 100
TIMED = 5  # the median of so many plans

HEAD = (
    "tasks x members", "event", "plan, ms", "rounds", "copies", "least", "moved", "hand-overs",
    "Streams: plan, ms", "rounds", "copies", "moved", "hand-overs",
)  # fmt: skip

Facts = dict[str, Any]


def group_of(tasks: int, members: int, event: str) -> SimulatedGroup:
    """A group that has settled, and to which this has just happened."""
    each = TASKS_OF_A_SUBTOPOLOGY
    subtopologies = [Subtopology(f"{i:04}", min(each, tasks - i * each)) for i in range(-(-tasks // each))]
    group = SimulatedGroup(subtopologies, StatefulOptions(num_standby_replicas=1))
    for i in range(members):
        group.join(f"m{i:04}")
    if event != "new":
        group.settle()
    if event == "join":
        group.join(f"m{members:04}")
    elif event == "leave":
        group.leave(f"m{members - 1:04}")
    group.built = 0
    group.handed.clear()
    return group


def least_copies(group: SimulatedGroup) -> int:
    """No balanced placement builds fewer: what members lack of an even share, or tasks of copies."""
    copies = 1 + min(group.options.num_standby_replicas, len(group.processes) - 1)
    tasks = sum(s.partitions for s in group.subtopologies)
    held = [len(process.lags) for process in group.processes.values()]
    short = sum(max(copies * tasks // len(held) - mine, 0) for mine in held)
    return max(short, copies * tasks - sum(held))


def measure(tasks: int, members: int, event: str, seconds: float) -> Facts:
    """Time the first plan, then play rounds until nothing is waiting, or for so many seconds."""
    group = group_of(tasks, members, event)
    problem = group.group()
    times = []
    for _ in range(TIMED):
        started = time.perf_counter()
        plan = plan_stateful(problem, group.options)
        times.append(time.perf_counter() - started)
    before = {task: m for m, mine in group.active.items() for task in mine}
    least = least_copies(group)
    rounds, until = 0, time.perf_counter() + seconds
    while True:
        plan = group.rebalance()
        group.catch_up()
        rounds += 1
        if not plan.probing or time.perf_counter() > until:
            break
    after = {task: m for m, mine in group.active.items() for task in mine}
    return {
        "warm": statistics.median(times),
        "rounds": rounds,
        "settled": not plan.probing,
        "built": group.built,
        "least": least,
        "moved": sum(after[task] != m for task, m in before.items()),
        "handed": sum(group.handed.values()),
    }


def cells(row: Facts) -> list[str]:
    """A row of the table."""
    ours, theirs = row["ours"], row.get("streams", {})
    return [
        row["size"].replace("x", " x "),
        row["event"],
        *_cells(ours, ("warm", "rounds", "built", "least", "moved", "handed")),
        *_cells(theirs, ("warm", "rounds", "built", "moved", "handed")),
    ]


def _cells(facts: Facts, names: Sequence[str]) -> list[str]:
    """Figures; of rounds that were cut short at least so many."""
    more = "" if facts.get("settled", True) else "> "
    return [
        "-" if name not in facts
        else f"{1000 * facts[name]:,.0f}" if name == "warm"
        else f"{facts[name]:,}" if name == "least"
        else f"{more}{facts[name]:,}"
        for name in names
    ]  # fmt: skip


def markdown(rows: Sequence[Facts]) -> str:
    """The table."""
    lines = [HEAD, ["---", "---", *["---:"] * (len(HEAD) - 2)], *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def peer(folder: Path, *, wanted: bool, console: Console) -> JavaPeer | None:
    """Kafka Streams, unless it is not wanted or not there."""
    if not wanted:
        return None
    try:
        return streams_peer(folder)
    except NoJavaError as reason:
        console.print(f"Kafka Streams was not measured: {reason}", markup=False)
        return None


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(prog="tests.bench.stateful", description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="TASKSxMEMBERS")
    parser.add_argument("--events", nargs="+", default=list(EVENTS), choices=EVENTS, metavar="EVENT")
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="for the rounds of one row (default 120)"
    )
    parser.add_argument("--no-java", action="store_true", help="leave Kafka Streams out")
    parser.add_argument("--out", type=Path, default=Path("out/stateful.json"), metavar="FILE")
    options = parser.parse_args()
    console = Console()
    rows: list[Facts] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        streams = peer(Path(folder), wanted=not options.no_java, console=console)
        for size in options.sizes:
            tasks, members = map(int, size.split("x"))
            for event in options.events:
                row: Facts = {"size": size, "event": event}
                row["ours"] = measure(tasks, members, event, options.seconds)
                if streams is not None:
                    row["streams"] = play(streams, tasks, members, event, seconds=options.seconds)
                rows.append(row)
                console.print(" | ".join(cells(row)), markup=False, soft_wrap=True)
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1))
    console.print(markdown(rows), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
