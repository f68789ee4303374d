"""Recorded demos: their results and logs, and a simulation of each run beside its measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from demo.figures.recorded import recording
from demo.group.logs import RunLogs, read_log
from demo.results import VERSION, DrainResult, Results, StrategyResult
from demo.settings import Compared
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.simulation import Outcome, simulate


class Calibration(NamedTuple):
    """One run.

    Attributes:
        scene: which.
        strategy: wire name.
        measured_drain: seconds.
        measured_moved: hand-overs.
        lateness: how long after it was due a record was sent, at most, seconds: a machine that stalls for
            long is not what is simulated.  0 in the backlog, where all is sent before.
        simulated: what the simulation says.
    """

    scene: Compared
    strategy: str
    measured_drain: float
    measured_moved: int
    lateness: float
    simulated: Outcome

    @property
    def drain_error(self) -> float:
        """The part by which the simulated drain is too long (above 0) or too short; infinite without one."""
        if self.simulated.drain_s is None or not self.measured_drain:
            return float("inf")
        return self.simulated.drain_s / self.measured_drain - 1

    @property
    def moved_error(self) -> float:
        """The same of the hand-overs; 0 where there are none in both."""
        if self.simulated.moved == self.measured_moved:
            return 0.0
        return self.simulated.moved / self.measured_moved - 1 if self.measured_moved else float("inf")


def calibrate(out: Path) -> list[Calibration]:
    """Simulate all that a demo ran to its end.

    Args:
        out: its folder.

    Raises:
        KafkaAssignorsError: there is no demo's result in it, or one of another version.
    """
    results = read_results(out)
    ran: list[tuple[Compared, StrategyResult | DrainResult]] = [
        ("replay", one) for one in results["strategies"]
    ]
    ran += [("backlog", one) for one in results["backlog"]]
    found: list[Calibration] = []
    for scene, one in ran:
        logs = read_run(out, results, scene, one["strategy"])
        again = recording(one["strategy"], logs, results["settings"])
        found.append(
            Calibration(
                scene=scene,
                strategy=one["strategy"],
                measured_drain=one["drain"],
                measured_moved=one["moved"],
                lateness=float(logs.driver_entry("sent_all").note) / 1e3 if scene == "replay" else 0.0,
                simulated=simulate(again.history, again.scenario),
            )
        )
    return found


def read_results(out: Path) -> Results:
    """Read a demo's results.json.

    Raises:
        KafkaAssignorsError: there is none, or one of another version.
    """
    path = out / "results.json"
    try:
        read: Any = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise KafkaAssignorsError(f"{path} is not the result of a demo: {error}") from error
    if not isinstance(read, dict) or read.get("version") != VERSION:
        raise KafkaAssignorsError(f"{path} is not the result of a demo of this version")
    results: Results = read  # type: ignore[assignment]  # of this version, so of this shape
    return results


def read_run(out: Path, results: Results, scene: Compared, strategy: str) -> RunLogs:
    """Read all that one run wrote."""
    folder = out / scene / strategy
    members = sorted(path for path in folder.glob("m*.jsonl"))
    return RunLogs(
        partitions=results["settings"]["partitions"],
        consumers=results["settings"]["consumers"],
        driver=read_log(folder / "driver.jsonl"),
        members={path.stem: read_log(path) for path in members},
    )
