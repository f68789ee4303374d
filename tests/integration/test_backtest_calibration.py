"""The back-test against the real thing: demos are recorded on a real broker and simulated.

- *overrun*: both scenes with the demo's own strategies, shorter.  In the replay more comes than the members
  can read, so its drain tells whether everybody has the work it had, at the speed it had.
- *in time*: a replay that the members keep up with, until one is killed right before its end.  Its drain
  tells whether rebalances take as long as they did.

What is simulated comes within 15 % of what was measured.
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
from kafka_assignors.demo.results import Results
from kafka_assignors.demo.settings import DEFAULT_STRATEGIES
from tests.integration.small_demo import command

WITHIN = 0.15
MOST_LATE = 1.0
"""Seconds a replay may be late; see `had_time`."""
TRIES = 3
MEMBERS = "--no-pipeline --partitions 12 --work-ms 3 --warm-up-ms 100"
BOTH = "--scene replay --scene backlog"
OVERRUN = (
    f"{MEMBERS} {BOTH} --consumers 3 --backlog 3000 --speed 70000 --duration 18 "
    "--churn join@1,leave@9,kill@11"
)
IN_TIME = f"{MEMBERS} --consumers 4 --scene replay --speed 40000 --duration 14 --churn join@1,leave@9,kill@13"

Compared = dict[tuple[str, str], Calibration]


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


def compared(out: Path) -> Compared:
    return {(one.scene, one.strategy): one for one in calibrate(out)}


@pytest.fixture(scope="module")
def of_overrun(overrun: Path) -> Compared:
    return compared(overrun)


@pytest.fixture(scope="module")
def of_in_time(in_time: Path) -> Compared:
    return compared(in_time)


REPLAYED = DEFAULT_STRATEGIES["replay"]
RUNS = [(scene, strategy) for scene, strategies in DEFAULT_STRATEGIES.items() for strategy in strategies]


def agrees(one: Calibration) -> None:
    assert one.measured_drain > 3  # else the last batch alone could be 15 %
    assert abs(one.drain_error) <= WITHIN, (one.measured_drain, one.simulated.drain_s)
    assert (one.measured_moved > 0) == (one.scene == "replay")
    assert abs(one.moved_error) <= WITHIN, (one.measured_moved, one.simulated.moved)


@pytest.mark.parametrize(("scene", "strategy"), RUNS)
def test_who_has_how_much_to_do_is_simulated_as_it_was(
    of_overrun: Compared, scene: str, strategy: str
) -> None:
    agrees(of_overrun[scene, strategy])


@pytest.mark.parametrize("strategy", REPLAYED)
def test_how_long_rebalances_take_is_simulated_as_it_was(of_in_time: Compared, strategy: str) -> None:
    agrees(of_in_time["replay", strategy])


@pytest.mark.parametrize("strategy", REPLAYED)
def test_a_simulation_that_knows_no_pauses_would_not_do(in_time: Path, strategy: str) -> None:
    results = read_results(in_time)
    again = recording(strategy, read_run(in_time, results, "replay", strategy), results["settings"])
    none = Pauses(heartbeat_s=0, join_s=0, refetch_s=0, session_timeout_s=0)
    with_them, without = (
        simulate(again.history, replace(again.scenario, pauses=pauses)).drain_s
        for pauses in (again.scenario.pauses, none)
    )
    assert with_them is not None
    assert without is not None
    assert without < with_them / 2


@pytest.mark.parametrize("strategy", REPLAYED)
def test_the_same_partitions_move_between_the_same_members(
    overrun: Path, of_overrun: Compared, strategy: str
) -> None:
    """These plans depend on who is there and owns what, and on nothing else."""
    measured = measure(strategy, read_run(overrun, read_results(overrun), "replay", strategy))["handovers"]
    simulated = of_overrun["replay", strategy].simulated
    assert {(move.partition, move.giver, move.taker) for move in simulated.moves} == {
        (one["partition"], one["giver"], one["taker"]) for one in measured
    }


def test_no_record_is_made_up_or_forgotten(overrun: Path, of_overrun: Compared) -> None:
    results = read_results(overrun)
    for one in results["strategies"]:
        assert of_overrun["replay", one["strategy"]].simulated.arrived == one["produced"]
    for drained in results["backlog"]:
        assert of_overrun["backlog", drained["strategy"]].simulated.arrived == drained["produced"]
