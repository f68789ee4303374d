"""Pure: trials on the demo's histories, and measured runs beside their simulations."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from demo.figures.recorded import Recording, recording
from demo.pipeline.ran import Ran
from demo.pipeline.results import CalibrationResult
from demo.results import SettingsResult
from demo.settings import Compared
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.job import TrialResult
from kafka_assignors.simulation import History, Pauses
from kafka_assignors.strategies import STRATEGIES

_PLAIN = {"rebalance_on_skew": (False,)}  # like the demo's members
_NOT_A_CHOICE = "failover"  # one member has everything: it is tried only if it ran


@dataclass(frozen=True, slots=True)
class Tried:
    """Trials of the pipeline."""

    backtest: list[Trial]  # every strategy on the load of each scene
    calibration: list[Trial]  # each run again, as it began; numbered after those of the back-test
    runs: list[Ran]  # the runs of the calibration
    refused: dict[str, str]  # run -> why it cannot be simulated
    histories: dict[str, History]  # of all trials, by group


def what_to_try(
    runs: Sequence[Ran], histories: Mapping[Compared, History], settings: SettingsResult
) -> Tried:
    """List the trials.

    The back-test uses the recorded load, which a pipeline has, and members, churn and costs, which a group's
    owner knows.  The calibration uses the runs' logs.

    Args:
        runs: all runs.
        histories: the recorded load of each scene; named by the scene.
        settings: of the demo.
    """
    recordings: dict[str, Recording] = {}
    refused: dict[str, str] = {}
    for ran in runs:
        if ran.measured["fault"]:
            refused[ran.group] = ran.measured["fault"]
            continue
        try:
            recordings[ran.group] = recording(ran.strategy, ran.logs, settings)
        except KafkaAssignorsError as error:
            refused[ran.group] = str(error)
    trials: list[Trial] = []
    for scene, history in histories.items():
        of_scene = [ran for ran in runs if ran.scene == scene]
        recorded = [recordings[ran.group] for ran in of_scene if ran.group in recordings]
        rate = _service_rate(recorded, settings)
        if rate is not None:
            pauses = _pauses(recorded, settings)
            trials += [
                replace(trial, scenario=replace(trial.scenario, pauses=pauses))
                for trial in _grid(of_scene, history, rate, settings).trials([history])
            ]
    again = [Trial(0, one.history.group, 1.0, one.scenario) for one in recordings.values()]
    numbered = [replace(trial, number=number) for number, trial in enumerate([*trials, *again])]
    return Tried(
        backtest=numbered[: len(trials)],
        calibration=numbered[len(trials) :],
        runs=[ran for ran in runs if ran.group in recordings],
        refused=refused,
        histories={str(scene): history for scene, history in histories.items()}
        | {one.history.group: one.history for one in recordings.values()},
    )


def _service_rate(recorded: Sequence[Recording], settings: SettingsResult) -> float | None:
    """Return records/s of a member, as measured; without a measurement, the limit its work sets."""
    rates = [one.history.service_rate for one in recorded if one.history.service_rate]
    if rates:
        return round(statistics.median(rates), 1)
    return 1e3 / settings["work_ms"] if settings["work_ms"] else None


def _pauses(recorded: Sequence[Recording], settings: SettingsResult) -> Pauses:
    """Return the costs of a rebalance; the start time of a process is measured."""
    starts = [one.scenario.pauses.start_s for one in recorded]
    return Pauses(
        start_s=round(statistics.median(starts), 2) if starts else 0.0,
        heartbeat_s=settings["heartbeat_ms"] / 1e3,
        warm_up_s=settings["warm_up_ms"] / 1e3,
        session_timeout_s=settings["session_timeout_ms"] / 1e3,
        continuous=settings.get("continuous", False),
    )


def _grid(runs: Sequence[Ran], history: History, rate: float, settings: SettingsResult) -> Grid:
    ran = {run.strategy for run in runs}
    names = [name for name in STRATEGIES if name != _NOT_A_CHOICE or name in ran]
    return Grid(
        candidates=candidates(names, _PLAIN, forecasts=history.expected is not None),
        members=(settings["consumers"],),
        churn=(runs[0].churn(history.starts_at),),
        service_rates=(rate,),
    )


def calibration(
    runs: Sequence[Ran], tried: Tried, results: Mapping[int, TrialResult]
) -> list[CalibrationResult]:
    """Return each run's measurement beside its simulation; ``results`` are by number of the trial."""
    trials = {ran.group: trial for ran, trial in zip(tried.runs, tried.calibration, strict=True)}
    rows: list[CalibrationResult] = []
    for ran in runs:
        result = results[trials[ran.group].number] if ran.group in trials else None
        outcome = result.outcome if result else None
        drain = outcome.drain_s if outcome else None
        rows.append(
            CalibrationResult(
                scene=ran.scene,
                strategy=ran.strategy,
                drain=ran.measured["drain"],
                drain_simulated=None if drain is None else round(drain, 3),
                moved=ran.measured["moved"],
                moved_simulated=outcome.moved if outcome else None,
                note=result.error if result else tried.refused[ran.group],
            )
        )
    return rows
