"""Tests of simulations of recorded demo runs, for kept and new recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from demo.figures import ownership
from demo.group.logs import RunLogs, read_log
from demo.results import MeasuredRun, Results, SettingsResult, runs_of
from kafka_assignors.simulation import Outcome, Pauses, simulate
from tests.support.simulation.recorded import Recording, recording

WITHIN = 0.15
REPLAYED = ("range", "cooperative-sticky")
"""Replays by lag are not always within 15 %: docs/explanation/simulation.md, "How true it is"."""

DRAINED = (*REPLAYED, "roundrobin", "lag-aware", "cooperative-lag-aware")
RUNS = [("replay", name) for name in REPLAYED] + [("backlog", name) for name in DRAINED]

Compared = dict[tuple[str, str], tuple[MeasuredRun, Outcome]]
"""Measured and simulated run, by scene and strategy."""


def read_results(out: Path) -> Results:
    """Read the results of a demo from its folder."""
    results: Results = json.loads((out / "results.json").read_text())
    return results


def read_run(out: Path, scene: str, strategy: str) -> RunLogs:
    """Read the logs of one run."""
    folder, settings = out / scene / strategy, read_results(out)["settings"]
    members = {path.stem: read_log(path) for path in sorted(folder.glob("m*.jsonl"))}
    return RunLogs(settings["partitions"], settings["consumers"], read_log(folder / "driver.jsonl"), members)


def recorded(out: Path, scene: str, strategy: str) -> Recording:
    """Return the simulation's input of one run; kept recordings are of `KafkaConsumer`s."""
    settings: SettingsResult = {"continuous": False, **read_results(out)["settings"]}
    return recording(strategy, read_run(out, scene, strategy), settings)


@cache
def compared(out: Path) -> Compared:
    """Simulate all runs of a demo."""
    return {
        (scene, strategy): (run, simulate(*recorded(out, scene, strategy)))
        for (scene, strategy), run in runs_of(read_results(out)).items()
    }


def agrees(measured: MeasuredRun, simulated: Outcome) -> None:
    """Drain time and moves are within 15 %."""
    assert measured["drain"] > 3  # else the last batch alone could be 15 %
    assert simulated.drain_s is not None
    assert abs(simulated.drain_s / measured["drain"] - 1) <= WITHIN, (measured["drain"], simulated.drain_s)
    assert abs(simulated.moved - measured["moved"]) <= WITHIN * measured["moved"], (
        measured["moved"],
        simulated.moved,
    )


class Calibration:
    """Its modules have the fixtures `overrun` and `in_time`, folders of demos, and `loads`, runs with lag."""

    @pytest.mark.parametrize(("scene", "strategy"), RUNS)
    def test_simulated_drains_and_moves_are_within_15_percent(
        self, loads: Compared, scene: str, strategy: str
    ) -> None:
        measured, simulated = loads[scene, strategy]
        assert (measured["moved"] > 0) == (scene == "replay")
        agrees(measured, simulated)

    def test_simulation_has_every_record(self, loads: Compared) -> None:
        for measured, simulated in loads.values():
            assert simulated.arrived == measured["produced"]

    @pytest.mark.parametrize("strategy", REPLAYED)
    def test_simulated_rebalance_times_are_within_15_percent(self, in_time: Path, strategy: str) -> None:
        measured, simulated = compared(in_time)["replay", strategy]
        assert measured["moved"] > 0
        agrees(measured, simulated)

    @pytest.mark.parametrize("strategy", REPLAYED)
    def test_drain_takes_less_than_half_the_time_if_rebalances_cost_nothing(
        self, in_time: Path, strategy: str
    ) -> None:
        again = recorded(in_time, "replay", strategy)
        none = Pauses(heartbeat_s=0, join_s=0, refetch_s=0, session_timeout_s=0)
        with_them, without = (
            simulate(again.history, replace(again.scenario, pauses=pauses)).drain_s
            for pauses in (again.scenario.pauses, none)
        )
        assert with_them is not None
        assert without is not None
        assert without < with_them / 2

    @pytest.mark.parametrize("strategy", REPLAYED)
    def test_same_partitions_move_between_the_same_members(self, overrun: Path, strategy: str) -> None:
        """These plans depend only on the present members and on what they own."""
        logs = read_run(overrun, "replay", strategy)
        died = {entry.note: entry.t for entry in logs.driver if entry.event == "kill"}
        holds = ownership.find_holds(logs.members, died, logs.driver_entry("end").t)
        _, simulated = compared(overrun)["replay", strategy]
        assert {(move.partition, move.giver, move.taker) for move in simulated.moves} == {
            (moved.partition, moved.giver, moved.taker)
            for moved in ownership.handovers(holds, logs.driver_entry("replay").t)
        }
