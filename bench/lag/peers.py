"""``python -m bench.lag.peers``: errors of the load model beside models of statsforecast, on the same weeks.

The models of statsforecast get counts of hours, and are fitted again at each forecast.  The load model gets
the same records in steps of 5 or 15 minutes, once.  See docs/benchmarks.md, "Forecast errors".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from statsforecast import StatsForecast
from statsforecast.models import MSTL, AutoETS, AutoTheta, SeasonalNaive

from bench.lag.datasets import DATASETS
from bench.lag.errors import REAL_STEP_S, STEP_S, WEEKS, flights, weeks_of
from bench.lag.forecasts import modelled, table
from bench.lag.kinds import BEGIN_S, KINDS, Floats, arrivals
from bench.machine import machine
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import baselines

DAY, WEEK = 24, 168
HORIZONS = (1, 6)  # hours
EVERY, FORECASTS = 5, 28  # hours between two forecasts; forecasts of the last six days
MODELS = (
    SeasonalNaive(season_length=WEEK, alias="SeasonalNaive"),
    MSTL(season_length=[DAY, WEEK], alias="MSTL"),
    AutoETS(season_length=DAY, alias="AutoETS"),
    AutoTheta(season_length=DAY, alias="AutoTheta"),
)
HEAD = ("arrivals", "horizon", "load model", *(model.alias for model in MODELS))


class Weeks(NamedTuple):
    """Weeks of arrivals by step and partition; the first step begins at ``begin_s``."""

    name: str
    arrived: Floats
    begin_s: int
    step_s: int

    @property
    def hour(self) -> int:
        """Steps of an hour."""
        return 3600 // self.step_s

    def hourly(self) -> Floats:
        """Return records by hour and partition."""
        counts: Floats = self.arrived.reshape(-1, self.hour, self.arrived.shape[1]).sum(axis=1)
        return counts


def all_weeks(seed: int, partitions: int) -> Iterator[Weeks]:
    """Yield weeks of the data sets and of each kind of synthetic traffic, with so many partitions."""
    real: dict[str, Callable[[], tuple[Floats, int]]] = {"flights": partial(flights, 18), **DATASETS}
    for name, read in real.items():
        arrived, begin_s = weeks_of(read(), "6 weeks from September on")
        yield Weeks(name, arrived[:, :partitions], begin_s, REAL_STEP_S)
    for kind in KINDS:
        drawn, _rates = arrivals(kind, seed, partitions=partitions, weeks=WEEKS, step_s=STEP_S)
        yield Weeks(kind, drawn, BEGIN_S, STEP_S)


def peers(hourly: Floats) -> Mapping[str, Floats]:
    """Forecast with statsforecast; return records by forecast, hour ahead and partition."""
    hours, partitions = hourly.shape
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(partitions), hours),
            "ds": np.tile(np.arange(hours), partitions),
            "y": hourly.T.ravel(),
        }
    )
    ahead = HORIZONS[-1]
    made = StatsForecast(list(MODELS), freq=1, n_jobs=-1).cross_validation(
        h=ahead, df=frame, step_size=EVERY, n_windows=FORECASTS
    )
    made = made.sort_values(["unique_id", "cutoff", "ds"])
    return {
        model.alias: made[model.alias].to_numpy().reshape(partitions, FORECASTS, ahead).transpose(1, 2, 0)
        for model in MODELS
    }


def rows(weeks: Weeks) -> Iterator[Sequence[object]]:
    """Yield rows: the error of all partitions, as a ratio to the errors of each partition's best baseline."""
    hourly = weeks.hourly()
    begins = len(hourly) - HORIZONS[-1] - EVERY * np.arange(FORECASTS)[::-1]  # of the forecasts, in hours
    steps = begins * weeks.hour - 1  # the steps that end there
    theirs = peers(hourly)
    for hours in HORIZONS:
        settings = LoadSettings(step_s=weeks.step_s, horizon_s=3600 * hours)
        came = np.stack([hourly[begin : begin + hours].sum(axis=0) for begin in begins])
        forecasts = {"load model": modelled(weeks.arrived, weeks.begin_s, settings).arrivals[steps]}
        forecasts |= {name: made[:, :hours].sum(axis=1) for name, made in theirs.items()}
        simple = [baselines(partition, settings) for partition in weeks.arrived.T]
        best = np.min(
            [
                np.abs(np.stack([of[name][steps] for of in simple], axis=1) - came).sum(axis=0)
                for name in simple[0]
            ],
            axis=0,
        )
        ratios = (np.abs(made - came).sum() / best.sum() for made in forecasts.values())
        yield weeks.name, f"{hours} h", *(f"{ratio:.2f}" for ratio in ratios)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.peers", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=8, help="of each kind, at most (default 8)")
    parser.add_argument("--only", nargs="+", help="names of arrivals (default all)")
    given = parser.parse_args(arguments)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), end="\n\n")
    began = time.perf_counter()
    chosen = (w for w in all_weeks(given.seed, given.partitions) if not given.only or w.name in given.only)
    table(HEAD, (row for weeks in chosen for row in rows(weeks)))
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
