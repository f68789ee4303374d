"""Laws of simulations of recorded demo runs, for kept and new recordings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demo.figures.measure import measure
from demo.figures.recorded import recording
from kafka_assignors.simulation import Pauses, simulate
from tests.support.demo_runs import Calibration, calibrate, read_results, read_run

WITHIN = 0.15
REPLAYED = ("range", "cooperative-sticky")
"""Replays by lag are not always within 15 %: docs/explanation/simulation.md, "How true it is"."""

DRAINED = (*REPLAYED, "roundrobin", "lag-aware", "cooperative-lag-aware")
RUNS = [("replay", name) for name in REPLAYED] + [("backlog", name) for name in DRAINED]

Compared = dict[tuple[str, str], Calibration]


def compared(out: Path) -> Compared:
    """Map scene and strategy to the measured and simulated run."""
    return {(run.scene, run.strategy): run for run in calibrate(out)}


def agrees(run: Calibration) -> None:
    """Drain time and moves are within 15 %."""
    assert run.measured_drain > 3  # else the last batch alone could be 15 %
    assert abs(run.drain_error) <= WITHIN, (run.measured_drain, run.simulated.drain_s)
    assert (run.measured_moved > 0) == (run.scene == "replay")
    assert abs(run.moved_error) <= WITHIN, (run.measured_moved, run.simulated.moved)


def needs_its_pauses(out: Path, strategy: str) -> None:
    """A replay that members keep up with drains in less than half the time if rebalances cost nothing."""
    results = read_results(out)
    again = recording(strategy, read_run(out, results, "replay", strategy), results["settings"])
    none = Pauses(heartbeat_s=0, join_s=0, refetch_s=0, session_timeout_s=0)
    with_them, without = (
        simulate(again.history, replace(again.scenario, pauses=pauses)).drain_s
        for pauses in (again.scenario.pauses, none)
    )
    assert with_them is not None
    assert without is not None
    assert without < with_them / 2


def moves_the_same(out: Path, of_out: Compared, strategy: str) -> None:
    """The same partitions move between the same members."""
    measured = measure(strategy, read_run(out, read_results(out), "replay", strategy))["handovers"]
    simulated = of_out["replay", strategy].simulated
    assert {(move.partition, move.giver, move.taker) for move in simulated.moves} == {
        (handover["partition"], handover["giver"], handover["taker"]) for handover in measured
    }


def has_every_record(out: Path, of_out: Compared) -> None:
    """A simulation receives every record that was sent."""
    results = read_results(out)
    for replayed in results["strategies"]:
        assert of_out["replay", replayed["strategy"]].simulated.arrived == replayed["produced"]
    for drained in results["backlog"]:
        assert of_out["backlog", drained["strategy"]].simulated.arrived == drained["produced"]
