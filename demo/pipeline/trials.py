"""Pure: the back-test's trials on the demo's histories."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from demo.group.logs import NS, RunLogs
from demo.pipeline.finished_run import FinishedRun
from demo.results import SettingsResult
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.simulation import History, Pauses
from kafka_assignors.strategies import STRATEGIES

START_TO_JOIN_S = 0.26  # s from a member's first log entry to its JoinGroup; measured
_PLAIN = {"rebalance_on_skew": (False,)}  # like the demo's members
_NOT_A_CHOICE = "failover"  # gives everything to one member, so it is tried only if the demo ran it


def list_trials(
    runs: Sequence[FinishedRun], histories: Mapping[str, History], settings: SettingsResult
) -> list[Trial]:
    """List the trials of each scene; none if records cost no work.

    Every strategy is tried, ``failover`` only if it ran, and cooperative-lag-aware also with forecasts if
    there are any.  The pipeline recorded the load.  Members and costs are the demo's settings.  The churn is
    that of the first run's log, and the start time of a process is measured.
    """
    if not settings["work_ms"]:
        return []
    trials: list[Trial] = []
    for scene, history in histories.items():
        of_scene = [run for run in runs if run.scene == scene]
        have_run = {run.strategy for run in of_scene}
        names = [name for name in STRATEGIES if name != _NOT_A_CHOICE or name in have_run]
        grid = Grid(
            candidates=candidates(names, _PLAIN, forecasts=history.expected is not None),
            members=(settings["consumers"],),
            churn=(of_scene[0].churn(history.starts_at),),
            service_rates=(1e3 / settings["work_ms"],),
        )
        costs = pauses(settings, round(statistics.median(start_s(run.logs) for run in of_scene), 2))
        trials += [
            # The demo's model does not wait for late samples: a scene is shorter than the usual delay.
            replace(trial, scenario=replace(trial.scenario, pauses=costs, forecast_delay_s=0.0))
            for trial in grid.trials([history])
        ]
    return [replace(trial, number=number) for number, trial in enumerate(trials)]


def pauses(settings: SettingsResult, start_s: float) -> Pauses:
    """Return the costs of a rebalance."""
    return Pauses(
        start_s=start_s,
        heartbeat_s=settings["heartbeat_ms"] / 1e3,
        warm_up_s=settings["warm_up_ms"] / 1e3,
        session_timeout_s=settings["session_timeout_ms"] / 1e3,
        continuous=settings["continuous"],
    )


def start_s(logs: RunLogs) -> float:
    """Return the mean time from the start of a joining member until it asks to join."""
    took: list[float] = []
    for step in logs.driver:
        started = [e.t for e in logs.members.get(step.note, ()) if e.event == "started"]
        if step.event == "join" and started:
            took.append((started[0] - step.t) / NS + START_TO_JOIN_S)
    return sum(took) / len(took) if took else 0.0
