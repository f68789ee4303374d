"""What a simulation of a demo's own recorded runs has to get right; of recordings kept and new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demo.calibration import Calibration, calibrate, read_results, read_run
from demo.measure import measure
from demo.recorded import recording
from kafka_assignors.simulation import Pauses, simulate

WITHIN = 0.15
REPLAYED = ("range", "cooperative-sticky")
"""Replays by lag are not within 15 % with certainty: docs/explanation/simulation.md, "How true it is"."""

DRAINED = (*REPLAYED, "roundrobin", "lag-aware", "cooperative-lag-aware")
RUNS = [("replay", name) for name in REPLAYED] + [("backlog", name) for name in DRAINED]

Compared = dict[tuple[str, str], Calibration]


def compared(out: Path) -> Compared:
    """Scene and strategy -> what was measured, and what is simulated."""
    return {(one.scene, one.strategy): one for one in calibrate(out)}


def agrees(one: Calibration) -> None:
    """Drain time and moves are within 15 %."""
    assert one.measured_drain > 3  # else the last batch alone could be 15 %
    assert abs(one.drain_error) <= WITHIN, (one.measured_drain, one.simulated.drain_s)
    assert (one.measured_moved > 0) == (one.scene == "replay")
    assert abs(one.moved_error) <= WITHIN, (one.measured_moved, one.simulated.moved)


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
        (one["partition"], one["giver"], one["taker"]) for one in measured
    }


def has_every_record(out: Path, of_out: Compared) -> None:
    """What arrives in a simulation is what was sent."""
    results = read_results(out)
    for one in results["strategies"]:
        assert of_out["replay", one["strategy"]].simulated.arrived == one["produced"]
    for drained in results["backlog"]:
        assert of_out["backlog", drained["strategy"]].simulated.arrived == drained["produced"]
