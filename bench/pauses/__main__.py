"""``python -m bench.pauses``: measures the pauses of partitions in a rebalance."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.javapeer import NoJavaError
from bench.machine import machine
from bench.pauses.figures import Figures
from bench.pauses.play import JAVA, PYTHON, Scene, commands, play
from bench.programs import exit_on_sigterm
from kafka_assignors.broker import development_broker


def cells(several: Sequence[Figures]) -> list[str]:
    """Return medians and worst values over all runs: pauses of kept and moved partitions, duplicates."""
    kept = [pause for each in several for pause in each.kept]
    moved = [pause for each in several for pause in each.moved]
    duplicates = [each.duplicates for each in several]
    return [
        *(f"{median(pauses):.2f} / {max(pauses):.2f}" if pauses else "-" for pauses in (kept, moved)),
        f"{median(duplicates):.0f} / {max(duplicates)}",
    ]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.pauses", description=__doc__)
    parser.add_argument(
        "--kinds", nargs="+", default=[*PYTHON, JAVA], choices=[*PYTHON, JAVA], metavar="KIND"
    )
    parser.add_argument("--slow", nargs="+", type=float, default=[0.0, 4.0, 20.0], metavar="S",
                        help="seconds a batch that one member takes (default 0 4 20)")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each (default 1)")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a broker that runs; else one is started")
    options = parser.parse_args()
    exit_on_sigterm()
    console = Console(width=140)
    columns = ("one member takes", "client", "event", "kept s", "moved s", "duplicates")
    table = Table(*columns, title="seconds without a record: median / worst")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pauses-")))
        bootstrap = options.bootstrap or stack.enter_context(development_broker("jars")).bootstrap
        try:
            members = commands(bootstrap, options.kinds, folder)
        except NoJavaError as reason:
            console.print(f"Java is not measured: {reason}", markup=False)
            members = commands(bootstrap, [kind for kind in options.kinds if kind != JAVA], folder)
        for slow_s in options.slow:
            for kind, command in members.items():
                runs = [
                    play(bootstrap, kind, command, Scene(slow_s, seed=run)) for run in range(options.repeat)
                ]
                for fault in filter(None, (run.fault for run in runs)):
                    console.print(f"{slow_s:g} s  {kind}  fault: {fault:.200}", markup=False)
                for event in runs[0].figures:
                    row = [f"{slow_s:g} s", kind, event, *cells([run.figures[event] for run in runs])]
                    console.print("  ".join(row), markup=False)
                    table.add_row(*row)
    console.print(table)
    console.print(json.dumps(machine()), markup=False)


if __name__ == "__main__":
    main()
