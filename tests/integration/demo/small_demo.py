"""Small demos for real, each run once for the tests of its numbers and report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from demo.results import Results
from demo.settings import DEFAULT_STRATEGIES

STRATEGIES = DEFAULT_STRATEGIES
BACKLOG = 1_500
FLIGHTS = 4_000
PARTITIONS = 12
MEMBERS = ["m1", "m2", "m3", "m4"]

SMALL_BACKLOG = (
    f"--consumers 3 --partitions {PARTITIONS} --work-ms 3 --warm-up-ms 100 --backlog {BACKLOG}".split()
)
ALL_SCENES = ["--scene", "replay", "--scene", "backlog", "--scene", "failover"]
SMALL_FAILOVER = ["--flights", str(FLIGHTS)]
#: The kill comes early enough for its rebalance, 6 s later, to fall into the replay.
SMALL = [*SMALL_BACKLOG, "--speed", "40000", "--duration", "14", "--churn", "join@1,leave@5,kill@7.5"]


class Demo(NamedTuple):
    """A demo that has run."""

    ended: subprocess.CompletedProcess[str]
    out: Path

    @property
    def results(self) -> Results:
        read: Results = json.loads((self.out / "results.json").read_text())
        return read


def command(out: Path, *more: str) -> list[str]:
    """Make the command line of a demo; without the pipeline, unless ``more`` asks for it."""
    return [sys.executable, "-m", "demo", "--no-pipeline", "--out", str(out), *more]


_RAN: dict[tuple[str, ...], Demo] = {}


def small_demo(bootstrap: str, folders: pytest.TempPathFactory) -> Demo:
    """Run the replay and the backlog, without the pipeline."""
    return _once(bootstrap, folders)


def whole_demo(bootstrap: str, folders: pytest.TempPathFactory) -> Demo:
    """Run all scenes and the pipeline; takes minutes, so only long tests use it."""
    return _once(bootstrap, folders, "--pipeline", *ALL_SCENES, *SMALL_FAILOVER)


def _once(bootstrap: str, folders: pytest.TempPathFactory, *more: str) -> Demo:
    """Run a demo to its end, which must be good, unless it ran already."""
    if more not in _RAN:
        out = folders.mktemp("demo") / "out"
        ended = subprocess.run(
            command(out, "--bootstrap", bootstrap, "--output", "json", *SMALL, *more),
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        _RAN[more] = Demo(ended, out)
    return _RAN[more]
