"""``python -m bench.lag.peers``: forecasts of the next hour beside those of statsforecast.

It needs statsforecast, which the package does not.  The peers get hourly sums and are fitted anew before each
forecast.  The model learns in steps of five minutes, as it does in production.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from bench.lag.errors import flights
from bench.lag.forecasts import modelled, table
from bench.lag.kinds import BEGIN_S, KINDS, Floats, arrivals
from bench.machine import machine
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import baselines

HOUR_S, DAY, WEEK = 3600, 24, 168
WEEKS = 4
ORIGINS = range(-24, 0, 2)  # hours before the end of the history
FLIGHTS = 243  # 2013-09-01, as day of the year


def peers() -> dict[str, Any]:
    """Return the peers' models by name."""
    from statsforecast.models import MSTL, AutoETS, AutoTheta, SeasonalNaive

    return {
        "SeasonalNaive, a week": SeasonalNaive(WEEK),
        "MSTL, day and week": MSTL([DAY, WEEK]),
        "AutoETS, a day": AutoETS(DAY),
        "AutoTheta, a day": AutoTheta(DAY),
    }


def errors(arrived: Floats, begin_s: int, step_s: int) -> dict[str, Floats]:
    """Return the mean absolute error of each way of forecasting, by partition."""
    settings = LoadSettings(step_s=step_s, horizon_s=HOUR_S)
    steps = HOUR_S // step_s
    hours = arrived.reshape(-1, steps, arrived.shape[1]).sum(axis=1)
    origins = [len(hours) + hour for hour in ORIGINS]
    came = hours[origins]
    last = [steps * hour - 1 for hour in origins]  # the last step before each
    simple = [baselines(records, settings) for records in arrived.T]
    missed = {
        name: np.abs(np.array([of_one[name][last] for of_one in simple]).T - came).mean(axis=0)
        for name in simple[0]
    }
    found = {"the best baseline": np.min(list(missed.values()), axis=0)}
    ours = modelled(arrived, begin_s, settings).arrivals[last]
    found["the load model"] = np.abs(ours - came).mean(axis=0)
    for name, model in peers().items():
        began = time.process_time()
        theirs = np.array(
            [[model.forecast(records[:hour], h=1)["mean"][0] for records in hours.T] for hour in origins]
        )
        found[name] = np.abs(np.maximum(theirs, 0.0) - came).mean(axis=0)
        fits = theirs.size
        print(f"  {name}: {1000 * (time.process_time() - began) / fits:,.0f} ms a forecast", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.peers", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4, help="of each kind (default 4)")
    given = parser.parse_args(arguments)
    about = machine() | {"statsforecast": version("statsforecast")}
    print("\n".join(f"{name}: {value}" for name, value in about.items()), end="\n\n")
    rows: dict[str, list[str]] = {}
    for kind in (*KINDS, "flights"):
        print(kind, flush=True)
        if kind == "flights":
            history, begin_s = flights(FLIGHTS, 7 * WEEKS, 18)
            found = errors(history[:, : given.partitions], begin_s, 900)
        else:
            history, _ = arrivals(kind, given.seed, partitions=given.partitions, weeks=WEEKS, step_s=300)
            found = errors(history, BEGIN_S, 300)
        best = np.maximum(found["the best baseline"], 1e-9)
        for name, missed in found.items():
            rows.setdefault(name, []).append(f"{np.exp(np.log(np.maximum(missed / best, 1e-9)).mean()):.2f}")
    print()
    table(["", *KINDS, "flights"], ([name, *cells] for name, cells in rows.items()))


if __name__ == "__main__":
    main()
