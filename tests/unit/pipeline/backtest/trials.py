"""A small back-test, simulated here, for tests of what is made of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import cache

import numpy as np

from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.job import TrialResult, try_out
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.results import Results
from kafka_assignors.pipeline.backtest.summary import summed_up
from kafka_assignors.simulation import History, Series, parse_churn

STRATEGIES = ("range", "cooperative-sticky", "cooperative-lag-aware")
STARTED = datetime(2026, 11, 22, 10, 0, tzinfo=timezone.utc)


def recorded(
    group: str = "g", steps: int = 60, *, rate: float | None = 60.0, forecasts: bool = False
) -> Recorded:
    """Six uneven partitions; three members that read 60 records/s each just keep up."""
    arrivals = np.tile(np.array([500, 400, 300, 100, 50, 50]), (steps, 1))
    history = History(
        group,
        10.0,
        {"t": 6},
        arrivals,
        np.zeros(6, np.int64),
        service_rate=rate,
        expected=6.0 * arrivals if forecasts else None,
        horizon_s=60.0 if forecasts else None,
    )
    lag = np.arange(steps, dtype=np.float64)
    lag[3:5] = np.nan
    return Recorded(
        history,
        lag,
        unknown=0.025,
        never_known=1,
        appeared=2,
        ended=np.arange(6) < 3,
        newest_lag=np.zeros(6),
        lag_age=np.zeros(6, np.int64),
    )


def grid(strategies: Sequence[str] = STRATEGIES) -> Grid:
    by_lag = {"rebalance_on_skew": [False]} if "cooperative-lag-aware" in strategies else {}
    found = candidates(strategies, by_lag, forecasts=False)
    return Grid(found, members=(3, 4), churn=(parse_churn("join@100,kill@300"),), scales=(1.0, 1.2))


def tried(of: Sequence[Recorded], what: Grid) -> tuple[list[Trial], list[TrialResult]]:
    histories = {one.history.group: one.history for one in of}
    trials = what.trials(histories.values())
    return trials, [try_out(histories[trial.group], trial) for trial in trials]


def reader_of(found: Sequence[TrialResult]) -> Callable[[Sequence[int]], dict[int, Series]]:
    """Return a function that returns the series of some scenarios."""
    known = {one.number: one.outcome.series for one in found if one.outcome and one.outcome.series}
    return lambda numbers: {number: known[number] for number in numbers}


def results(of: Sequence[Recorded], trials: Sequence[Trial], found: Sequence[TrialResult]) -> Results:
    failed = sum(one.outcome is None for one in found)
    return summed_up(
        of,
        trials,
        found,
        run={"history": "h", "cores": 2, "scenarios": len(trials), "failed": failed, "seconds": 1.5},
        started=STARTED,
        read_series=reader_of(found),
    )


@cache
def _small_results() -> Results:
    of = [recorded("g"), recorded("h")]
    return results(of, *tried(of, grid()))


def small_results() -> Results:
    """Of two groups."""
    return copy.deepcopy(_small_results())
