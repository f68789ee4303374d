"""The back-test against the real thing: a demo is recorded on a real broker and simulated.

Both scenes with the demo's own strategies, shorter; in the replay more comes than the members can read, so
that there is something to drain.  What is simulated comes within 15 % of what was measured.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_assignors.backtest import Pauses, simulate
from kafka_assignors.demo.calibration import Calibration, calibrate, read_results, read_run
from kafka_assignors.demo.measure import measure
from kafka_assignors.demo.recorded import recording
from kafka_assignors.demo.settings import DEFAULT_STRATEGIES
from tests.integration.small_demo import command

WITHIN = 0.15
MOST_LATE = 1.0
"""Seconds the replay may be late: a machine that stalls for longer does not show how a group behaves, and the
recording is made again."""
TRIES = 3
SHORT = (
    "--consumers 3 --partitions 12 --work-ms 3 --warm-up-ms 100 --backlog 3000 "
    "--speed 70000 --duration 18 --churn join@2,leave@8,kill@10"
)


@pytest.fixture(scope="module")
def recorded(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo on a machine that had time for it."""
    for _ in range(TRIES):
        out = tmp_path_factory.mktemp("calibration") / "out"
        ended = subprocess.run(
            command(out, "--bootstrap", kafka_bootstrap, "--output", "json", *SHORT.split()),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        if max(one["lateness"] for one in read_results(out)["strategies"]) <= MOST_LATE:
            return out
    pytest.fail(f"{TRIES} recordings, and in each the machine stalled for more than {MOST_LATE:g} s")


@pytest.fixture(scope="module")
def compared(recorded: Path) -> dict[tuple[str, str], Calibration]:
    return {(one.scene, one.strategy): one for one in calibrate(recorded)}


RUNS = [(scene, strategy) for scene, strategies in DEFAULT_STRATEGIES.items() for strategy in strategies]


@pytest.mark.parametrize(("scene", "strategy"), RUNS)
def test_a_simulated_drain_takes_as_long_as_the_measured_one(
    compared: dict[tuple[str, str], Calibration], scene: str, strategy: str
) -> None:
    one = compared[scene, strategy]
    assert one.measured_drain > 3  # else the last batch alone could be 15 %
    assert abs(one.drain_error) <= WITHIN, (one.measured_drain, one.simulated.drain_s)


@pytest.mark.parametrize(("scene", "strategy"), RUNS)
def test_as_many_partitions_move(
    compared: dict[tuple[str, str], Calibration], scene: str, strategy: str
) -> None:
    one = compared[scene, strategy]
    assert (one.measured_moved > 0) == (scene == "replay")
    assert abs(one.moved_error) <= WITHIN, (one.measured_moved, one.simulated.moved)


def test_the_same_partitions_move_between_the_same_members(recorded: Path) -> None:
    """These plans depend on who is there and owns what, and on nothing else."""
    results = read_results(recorded)
    for strategy in DEFAULT_STRATEGIES["replay"]:
        logs = read_run(recorded, results, "replay", strategy)
        again = recording(strategy, logs, results["settings"])
        [one] = [one for one in calibrate(recorded) if (one.scene, one.strategy) == ("replay", strategy)]
        measured = {(h["partition"], h["giver"], h["taker"]) for h in measure(strategy, logs)["handovers"]}
        assert {(move.partition, move.giver, move.taker) for move in one.simulated.moves} == measured
        assert again.history.records == one.simulated.arrived


def test_a_simulation_that_knows_no_pauses_would_not_do(recorded: Path) -> None:
    """What rebalances cost is most of why lag piles up; without it drains come out too short."""
    results = read_results(recorded)
    strategy = DEFAULT_STRATEGIES["replay"][0]
    again = recording(strategy, read_run(recorded, results, "replay", strategy), results["settings"])
    none = Pauses(heartbeat_s=0, join_s=0, refetch_s=0, session_timeout_s=0)
    with_pauses = simulate(again.history, again.scenario).drain_s
    without = simulate(again.history, replace(again.scenario, pauses=none)).drain_s
    assert with_pauses is not None
    assert without is not None
    assert without < with_pauses * (1 - WITHIN)
