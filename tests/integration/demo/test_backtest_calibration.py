"""The back-test against the real thing: demos are recorded on a real broker and simulated.

- *overrun*: both scenes, shorter.  In the replay more comes than the members
  can read, so its drain tells whether everybody has the work it had, at the speed it had.
- *in time*: a replay that the members keep up with, until one is killed right before its end.  Its drain
  tells whether rebalances take as long as they did.

The simulation comes within 15 % of the measurement.  `tests/unit/demo/figures/test_calibration.py` does the
same with two recordings that are kept.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from demo.results import Results
from tests.integration.demo.small_demo import command
from tests.support.simulation.calibrated import (
    DRAINED,
    REPLAYED,
    Calibration,
    Compared,
    compared,
    read_results,
)

pytestmark = pytest.mark.calibration

MOST_LATE = 1.0
"""Seconds a replay may be late; see `had_time`."""
TRIES = 3
MEMBERS = "--no-pipeline --partitions 12 --work-ms 3 --warm-up-ms 100"
REPLAY = f"{MEMBERS} --scene replay " + " ".join(f"--strategy {name}" for name in REPLAYED)
OVERRUN = f"{REPLAY} --consumers 3 --speed 70000 --duration 18 --churn join@1,leave@9,kill@11"
IN_TIME = f"{REPLAY} --consumers 4 --speed 40000 --duration 14 --churn join@1,leave@9,kill@13"
BACKLOG = f"{MEMBERS} --scene backlog --consumers 3 --backlog 3000 " + " ".join(
    f"--strategy {name}" for name in DRAINED
)


def had_time(results: Results) -> bool:
    """Whether the machine let the run happen as it was meant.

    A machine that stalls does not show how a group behaves: records are sent late, or a new process starts
    so slowly that its join falls into the next step of the script.
    """
    return all(
        one["lateness"] <= MOST_LATE and all(step["rebalances"] for step in one["steps"])
        for one in results["strategies"]
    )


def record(bootstrap: str, folders: pytest.TempPathFactory, arguments: str) -> Path:
    """Run a demo until the machine had time for it."""
    for _ in range(TRIES):
        out = folders.mktemp("calibration") / "out"
        ended = subprocess.run(
            command(out, "--bootstrap", bootstrap, "--output", "json", *arguments.split()),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        if had_time(read_results(out)):
            return out
    pytest.fail(f"{TRIES} recordings, and in each the machine stalled")


@pytest.fixture(scope="module")
def overrun(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(kafka_bootstrap, tmp_path_factory, OVERRUN)


@pytest.fixture(scope="module")
def in_time(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(kafka_bootstrap, tmp_path_factory, IN_TIME)


@pytest.fixture(scope="module")
def loads(overrun: Path, kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return compared(overrun) | compared(record(kafka_bootstrap, tmp_path_factory, BACKLOG))


class TestNewRecordings(Calibration):
    """Of `ContinuousConsumer`s."""
