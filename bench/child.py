"""The measuring process: ``python -m bench.child``, started by the benchmark only.

Each measurement runs in a new process, so that no earlier one affects its heap, garbage collector or peak of
memory.  The process prints facts as lines of JSON, each as soon as it is known.
"""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.groups import Senders, read_plan
from bench.measure import measure
from bench.problems import Problem
from bench.quality import judge
from bench.stateful.problems import Size
from bench.stateful.problems import measure as measure_stateful


def main(task: str, order: dict[str, Any]) -> None:
    """Do one task; ``order`` holds its arguments."""
    if task == "measure":
        for facts in measure(order["kind"], Path(order["group"]), Path(order["plan"]), order["longest"]):
            answer(facts)
        return
    if task == "stateful":
        size = Size(order["tasks"], order["members"])
        for facts in measure_stateful(size, order["event"], play=order["play"]):
            answer(facts)
        return
    gc.disable()  # the other tasks only create and read values; nothing is timed
    problem = Problem(*order["problem"])
    base = read_plan(Path(order["base"])) if order["base"] else {}
    if task == "write":
        senders = Senders()
        for phase, groups in order["phases"].items():
            moment = problem.at(phase, base)
            for kind, path in groups.items():
                senders.write(Path(path), kind, moment)
        answer({})
    elif task == "judge":
        moment = problem.at(order["phase"], base)
        answer({who: asdict(judge(moment, read_plan(Path(path)))) for who, path in order["plans"].items()})


def answer(facts: dict[str, Any]) -> None:
    """Report facts to the benchmark."""
    sys.stdout.write(f"{json.dumps(facts)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
