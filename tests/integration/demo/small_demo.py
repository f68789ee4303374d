"""The options of the small demos that are run for real."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from demo.results import Results
from demo.settings import DEFAULT_STRATEGIES

STRATEGIES = DEFAULT_STRATEGIES
BACKLOG = 1_500
FLIGHTS = 4_000
PARTITIONS = 12
CONSUMERS = 3
MEMBERS = ["m1", "m2", "m3", "m4"]

SMALL_BACKLOG = (
    f"--consumers {CONSUMERS} --partitions {PARTITIONS} --backlog {BACKLOG} --work-ms 3 --warm-up-ms 100"
).split()
#: The kill comes early enough for its rebalance, 6 s later, to fall into the replay.
SMALL = [*SMALL_BACKLOG, "--speed", "40000", "--duration", "14", "--churn", "join@1,leave@5,kill@7.5"]


class Demo(NamedTuple):
    """A demo that has run."""

    ended: subprocess.CompletedProcess[str]
    out: Path
    results: Results


def command(out: Path, *more: str) -> list[str]:
    """Make the command line of a demo; without the pipeline, unless ``more`` asks for it."""
    return [sys.executable, "-m", "demo", "--no-pipeline", "--out", str(out), *more]
