"""``python -m bench.lag.errors``: how far forecasts are off, on synthetic weeks and on real data.

See docs/benchmarks.md, "Forecast errors".  The constants of the model were chosen on the data of
``--tuning``, which are not reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bench.lag.forecasts import Modelled, modelled, table
from bench.lag.kinds import BEGIN_S, DAY_S, KINDS, Floats, arrivals
from bench.machine import machine
from demo.data.events import find_archive, read_flights
from demo.data.flight_samples import sample_flights
from kafka_assignors.cli.size.recording import RecordingRequest, load_at_end
from kafka_assignors.cli.size.sizes import SizeRequest
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import Totals, baselines, compare
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.simulation import History, Scenario, simulate
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.sizing import Target, size

HORIZONS = (900, 3600, 21_600)
WEEKS, STEP_S = 5, 300
HELD_BACK = 2  # days at the end of the synthetic weeks
PERIODS = {"6 weeks from January on": (0, 42), "6 weeks from September on": (243, 42)}
TUNING = {"6 weeks from April on": (90, 42), "6 weeks from June on": (160, 42)}
SEED, TUNING_SEED = 1, 101
REAL_STEP_S, LEARNT = 900, 14  # days
HOURLY_HORIZONS = (3600, 21_600)
WORSE = 1.02
STICKY = simulated("sticky")
HEAD = (
    "arrivals", "horizon", "error / best baseline", "error / best one until then",
    "median / p90 of partitions", "worse partitions", "true rate / best baseline",
    "within one standard error",
)  # fmt: skip


class Figures(NamedTuple):
    """Errors of many partitions.

    Attributes:
        ratios: to the baseline that is best for a partition over the same forecasts.
        chosen: to the baseline that was best for it until each forecast.
        coverage: part of the forecasts that missed by at most their standard error.
    """

    ratios: Floats
    chosen: Floats
    coverage: float


def shown_mean(ratios: Floats) -> str:
    """Return the geometric mean, to two digits."""
    return f"{np.exp(np.nanmean(np.log(np.maximum(ratios, 1e-9)))):.2f}"


def figures(arrived: Floats, forecasts: Modelled, settings: LoadSettings, first: int) -> Figures:
    """Compare forecasts to arrivals from step ``first`` on, partition by partition."""
    known = np.arange(len(arrived)) >= first
    scores = []
    for partition, records in enumerate(arrived.T):
        forecast = np.where(known, forecasts.arrivals[:, partition], np.nan)
        scores.append(compare(records, forecast, forecasts.error[:, partition], settings))
    sums = Totals(*(sum(column) for column in zip(*scores, strict=True)))
    ratios = [score.model_miss / score.best_miss for score in scores if score.best_miss]
    chosen = [
        beside_chosen(records, forecast, settings, first)
        for records, forecast in zip(arrived.T, forecasts.arrivals.T, strict=True)
    ]
    return Figures(np.array(ratios), np.array(chosen), sums.within / max(sums.judged, 1))


def beside_chosen(records: Floats, forecast: Floats, settings: LoadSettings, first: int) -> float:
    """Return the error from a step on, as a ratio to that of baselines chosen without hindsight.

    At each step the chosen baseline is the one with the least error over all forecasts that have ended.
    NaN: the chosen baselines never missed.
    """
    steps = settings.horizon // settings.step
    upto = np.concatenate([[0.0], np.cumsum(records)])
    came = np.append(upto[1 + steps :] - upto[1:-steps], np.full(steps, np.nan))
    misses = np.abs(np.array(list(baselines(records, settings).values())) - came)
    known = ~np.isnan(misses.sum(axis=0))
    ended = np.zeros_like(misses)
    ended[:, steps:] = np.cumsum(np.where(known, misses, 0.0), axis=1)[:, :-steps]
    chosen = misses[ended.argmin(axis=0), np.arange(len(came))]
    judged = known & (np.arange(len(came)) >= first)
    missed = chosen[judged].sum()
    return float(np.abs(forecast - came)[judged].sum() / missed) if missed else float("nan")


def synthetic(seed: int, partitions: int) -> Iterator[Sequence[object]]:
    """Yield rows for the last days of synthetic weeks."""
    drawn = [arrivals(kind, seed, partitions=partitions, weeks=WEEKS, step_s=STEP_S) for kind in KINDS]
    arrived, rates = (np.hstack(several) for several in zip(*drawn, strict=True))
    first = (7 * WEEKS - HELD_BACK) * DAY_S // STEP_S
    for horizon in HORIZONS:
        settings = LoadSettings(step_s=STEP_S, horizon_s=horizon)
        forecasts, truth = modelled(arrived, BEGIN_S, settings), known(rates, settings)
        for number, kind in enumerate(KINDS):
            some = slice(number * partitions, (number + 1) * partitions)
            ours, least = (
                figures(arrived[:, some], Modelled(*(part[:, some] for part in of)), settings, first)
                for of in (forecasts, truth)
            )
            yield row(kind, horizon, ours, least)


def known(rates: Floats, settings: LoadSettings) -> Modelled:
    """Forecast with the true rates, which no model can know."""
    steps = settings.horizon // settings.step
    upto = np.vstack([np.zeros_like(rates[:1]), np.cumsum(rates, axis=0)])
    expected = np.full_like(rates, np.nan)
    expected[:-steps] = (upto[steps:] - upto[:-steps])[1:]
    return Modelled(expected, np.full_like(rates, np.nan))


def flights(partitions: int) -> tuple[Floats, int]:
    """Return departures by step and partition, and the begin of the first step, seconds since 1970."""
    samples = sample_flights(read_flights(find_archive()), partitions, every_s=REAL_STEP_S)
    return np.diff(samples.ends, axis=0).astype(float), int(samples.times[0])


def weeks_of(year: tuple[Floats, int], period: str) -> tuple[Floats, int]:
    """Return the arrivals of a period, and its begin, seconds since 1970, from those of its year."""
    (steps, begin_s), (first_day, days), day = year, (PERIODS | TUNING)[period], DAY_S // REAL_STEP_S
    return steps[first_day * day : (first_day + days) * day], begin_s + first_day * DAY_S


def of_real(
    name: str, year: tuple[Floats, int], periods: Iterable[str], horizons: Sequence[int] = HORIZONS
) -> Iterator[Sequence[object]]:
    """Yield rows for six weeks of a year of arrivals, after the first two."""
    for period in periods:
        arrived, begin_s = weeks_of(year, period)
        for horizon in horizons:
            settings = LoadSettings(step_s=REAL_STEP_S, horizon_s=horizon)
            forecasts = modelled(arrived, begin_s, settings)
            seen = figures(arrived, forecasts, settings, LEARNT * DAY_S // REAL_STEP_S)
            yield row(f"{name}, {period}", horizon, seen)


def row(name: str, horizon: int, ours: Figures, truth: Figures | None = None) -> Sequence[object]:
    """Return one row of the table."""
    p50, p90 = np.quantile(ours.ratios, [0.5, 0.9])
    return (
        name,
        f"{horizon // 60} min" if horizon < 3600 else f"{horizon // 3600} h",
        shown_mean(ours.ratios),
        shown_mean(ours.chosen),
        f"{p50:.2f} / {p90:.2f}",
        f"{100 * (ours.ratios > WORSE).mean():.0f} %",
        "-" if truth is None else shown_mean(truth.ratios),
        f"{100 * ours.coverage:.0f} %",
    )


# --- sizes by forecast -------------------------------------------------------------------------------------

STEPS_A_DAY = DAY_S // STEP_S
SIZED, TARGET, RATE = 24, Target(60, headroom=0), 120.0  # partitions; a member's records/s


def least_size(arrivals: Counts) -> int:
    """Return the least size that keeps the target with the later arrivals, by trying every size."""
    came = History("g", STEP_S, {"t": SIZED}, arrivals, np.zeros(SIZED, np.int64), service_rate=RATE)
    return next(
        members
        for members in range(1, SIZED + 1)
        if simulate(came, Scenario("truth", STICKY, members)).time_lag_max <= TARGET.max_time_lag_s
    )


def sizes_of(hour: int) -> tuple[int, int, int]:
    """Size a group at an hour of the sixth day of a recording; the next hour is held back.

    Arrivals are random, around a daily wave from 100 to 900 records a second.

    Returns:
        The least size for the arrivals of the next hour, the size by forecast, and the size for an hour of
        the last arrivals.
    """
    day = np.arange(6 * STEPS_A_DAY) / STEPS_A_DAY
    rates = (500 - 400 * np.cos(2 * np.pi * day)) / SIZED
    arrivals = np.random.default_rng(5).poisson(np.tile(rates * STEP_S, (SIZED, 1)).T)
    end = 5 * STEPS_A_DAY + hour * 12
    nothing = np.zeros(SIZED, np.int64)
    recorded = Recorded(
        History("g", STEP_S, {"t": SIZED}, arrivals[:end], nothing),
        lag=np.zeros(end),
        unknown=0.0,
        never_known=0,
        appeared=0,
        ended=np.zeros(SIZED, bool),
        newest_lag=np.zeros(SIZED),
        lag_age=nothing,
    )
    recording = RecordingRequest("", None, None, window_s=STEP_S)
    load = load_at_end(recorded, recording, SizeRequest("g", TARGET, 3600, rate=RATE))
    assert load.forecasts is not None
    assert load.forecasts.partitions == SIZED
    lasting = replace(load.history, arrivals=4 * load.history.arrivals[:1], step_s=3600.0)
    by_forecast, by_present = (size(history, STICKY, TARGET).advised for history in (load.history, lasting))
    return least_size(arrivals[end : end + 12]), by_forecast, by_present


def size_errors() -> Iterator[Sequence[object]]:
    """Yield rows: the hours in which a size is exact, too small, too large."""
    sizes = np.array([sizes_of(hour) for hour in range(24)])
    for column, kind in ((1, "by forecast"), (2, "by the arrivals of now")):
        off = sizes[:, column] - sizes[:, 0]
        yield kind, (off == 0).sum(), (off < 0).sum(), (off > 0).sum(), np.abs(off).max()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.errors", description=__doc__)
    parser.add_argument("--tuning", action="store_true", help="the data on which constants were chosen")
    parser.add_argument("--partitions", type=int, default=40, help="of each kind (default 40)")
    parser.add_argument("--sizes", action="store_true", help="only sizes by forecast, beside the truth")
    parser.add_argument("--hourly", action="store_true", help="only counts by hour of two packages of data")
    given = parser.parse_args(arguments)
    periods = TUNING if given.tuning else PERIODS
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), end="\n\n")
    if given.sizes:
        table(("size", "exact", "too small", "too large", "members off, at most"), size_errors())
        return
    if not given.hourly:
        table(HEAD, synthetic(TUNING_SEED if given.tuning else SEED, given.partitions))
        table(HEAD, of_real("flights", flights(18), periods))
        return
    from bench.lag.datasets import DATASETS  # needs pandas

    for name, read in DATASETS.items():
        table(HEAD, of_real(name, read(), periods, HOURLY_HORIZONS))


if __name__ == "__main__":
    main()
