"""Pure: what is tried out on the demo's histories, and how true it is where the demo has measured it."""

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

_PLAIN = {"rebalance_on_skew": (False,)}  # as the demo's members are
_NOT_A_CHOICE = "failover"  # one member has everything: a requirement, and tried only where it ran


@dataclass(frozen=True, slots=True)
class Tried:
    """What to try out.

    Args:
        backtest: every strategy on the load of each scene.
        calibration: each run again, as it began; numbered after those of the back-test.
        runs: which run those are of.
        refused: run -> why it cannot be simulated.
        histories: of all trials, by the groups they name.
    """

    backtest: list[Trial]
    calibration: list[Trial]
    runs: list[Ran]
    refused: dict[str, str]
    histories: dict[str, History]


def what_to_try(
    runs: Sequence[Ran], histories: Mapping[Compared, History], settings: SettingsResult
) -> Tried:
    """List the trials.

    The back-test has what a pipeline has, the recorded load, and what a group's owner knows: members, churn
    and costs.  The runs themselves, to compare with, are taken from their logs.

    Args:
        runs: all there were.
        histories: the load of each scene, as it was recorded; named by the scene.
        settings: what the demo was asked for.
    """
    made = {ran.group: _recording(ran, settings) for ran in runs}
    recordings = {group: one for group, one in made.items() if isinstance(one, Recording)}
    refused = {group: one for group, one in made.items() if isinstance(one, str)}
    trials: list[Trial] = []
    for scene, history in histories.items():
        own = [ran for ran in runs if ran.scene == scene]
        rate = _service_rate([recordings[ran.group] for ran in own if ran.group in recordings], settings)
        if rate is not None:
            costs = _costs([recordings[ran.group] for ran in own if ran.group in recordings], settings)
            trials += [
                replace(trial, scenario=replace(trial.scenario, pauses=costs))
                for trial in _grid(own, history, rate, settings).trials([history])
            ]
    again = [Trial(0, one.history.group, 1.0, one.scenario) for one in recordings.values()]
    numbered = [replace(trial, number=number) for number, trial in enumerate([*trials, *again])]
    return Tried(
        backtest=numbered[: len(trials)],
        calibration=numbered[len(trials) :],
        runs=[ran for ran in runs if ran.group in recordings],
        refused=refused,
        histories={
            **dict(histories.items()),
            **{one.history.group: one.history for one in recordings.values()},
        },
    )


def _recording(ran: Ran, settings: SettingsResult) -> Recording | str:
    """The run as something to simulate, or why it is not."""
    if ran.measured["fault"]:
        return ran.measured["fault"]
    try:
        return recording(ran.strategy, ran.logs, settings)
    except KafkaAssignorsError as error:
        return str(error)


def _service_rate(recordings: Sequence[Recording], settings: SettingsResult) -> float | None:
    """Records/s of a member, as measured; where nobody was busy for long, what its work alone allows."""
    rates = [one.history.service_rate for one in recordings if one.history.service_rate]
    if rates:
        return round(statistics.median(rates), 1)
    return 1e3 / settings["work_ms"] if settings["work_ms"] else None


def _costs(recordings: Sequence[Recording], settings: SettingsResult) -> Pauses:
    """What a rebalance costs; how long a process takes to start is the machine's doing, and measured."""
    starts = [one.scenario.pauses.start_s for one in recordings]
    return Pauses(
        start_s=round(statistics.median(starts), 2) if starts else 0.0,
        heartbeat_s=settings["heartbeat_ms"] / 1e3,
        warm_up_s=settings["warm_up_ms"] / 1e3,
        session_timeout_s=settings["session_timeout_ms"] / 1e3,
        continuous=settings.get("continuous", False),
    )


def _grid(runs: Sequence[Ran], history: History, rate: float, settings: SettingsResult) -> Grid:
    ran = {one.strategy for one in runs}
    names = [name for name in STRATEGIES if name != _NOT_A_CHOICE or name in ran]
    return Grid(
        candidates=candidates(names, _PLAIN, forecasts=history.expected is not None),
        members=(settings["consumers"],),
        churn=(runs[0].churn(history.starts_at),),
        service_rates=(rate,),
    )


def calibration(
    runs: Sequence[Ran], tried: Tried, found: Mapping[int, TrialResult]
) -> list[CalibrationResult]:
    """Set what was measured beside what was simulated.

    Args:
        runs: all there were.
        tried: what was tried out.
        found: what came of each trial, by its number.
    """
    trials = {ran.group: trial for ran, trial in zip(tried.runs, tried.calibration, strict=True)}
    results: list[CalibrationResult] = []
    for ran in runs:
        result = found[trials[ran.group].number] if ran.group in trials else None
        outcome = result.outcome if result else None
        results.append(
            CalibrationResult(
                scene=ran.scene,
                strategy=ran.strategy,
                drain=ran.measured["drain"],
                drain_simulated=None
                if outcome is None or outcome.drain_s is None
                else round(outcome.drain_s, 3),
                moved=ran.measured["moved"],
                moved_simulated=None if outcome is None else outcome.moved,
                note=result.error if result else tried.refused[ran.group],
            )
        )
    return results
