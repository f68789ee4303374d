"""``python -m bench.lag.forecasts``: plans by forecast compared with plans by lag, on the flights.

docs/benchmarks.md, "Plans from forecasts", describes the measurement.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from bench.lag.foresight import (
    LEAST_S,
    Case,
    Forecasts,
    Outcome,
    compare,
    from_one_state,
    largest,
    moved,
    plan,
    rate_for,
)
from bench.lag.traffic import HOUR_S, TOPIC, WEEK, Numbers, Traffic, traffic_of, work_off
from bench.machine import machine
from demo.data.events import find_archive, read_flights
from kafka_assignors.assignor.lag.options import CooperativeLagOptions
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.bucket.model import Models
from kafka_assignors.forecast.bucket.table import Table
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import TopicPartition

DAY = 24
STEP_S = 300
MARGINS = (0, 0.5, 1, 2)  # standard errors added to the model's forecasts
BLOCK = 4  # hours of the day that are shown together


def flights(partitions: int, weeks: int) -> Traffic:
    """Return the traffic of the first weeks of 2013."""
    return traffic_of(read_flights(find_archive(), span=(weeks + 1) * WEEK * HOUR_S), partitions, weeks)


# --- forecasts ---------------------------------------------------------------------------------------------


def last_hour(traffic: Traffic) -> Forecasts:
    """Expect the arrivals of the hour before again; 0 in the first hour."""
    return np.vstack([np.zeros_like(traffic.hours[:1]), traffic.hours[:-1]])


def hour_of_week(traffic: Traffic) -> Forecasts:
    """Expect the mean of the same hour in the weeks before; 0 in the first week."""
    hours = traffic.hours
    expected = np.zeros_like(hours)
    for hour in range(WEEK, len(hours)):
        expected[hour] = hours[hour % WEEK : hour : WEEK].mean(axis=0)
    return expected


class Modelled(NamedTuple):
    """Forecasts of the model at the end of each step, and their standard errors, by step and partition."""

    arrivals: Numbers
    error: Numbers


def modelled(arrived: Numbers, begin_s: int, settings: LoadSettings) -> Modelled:
    """Forecast with the package's model.

    Args:
        arrived: records by step and partition.
        begin_s: begin of the first step, seconds since 1970.
        settings: step and horizon.
    """
    states = Table(settings)
    states.grow(arrived.shape[1])
    models, at = Models(states), begin_s * SECOND
    forecast, error = np.empty((2, *arrived.shape))
    for step, records in enumerate(arrived.astype(np.int64)):
        at += settings.step
        outlooks = models.learn(slice(None), at, records)
        forecast[step], error[step] = outlooks.arrivals, outlooks.error
    return Modelled(forecast, error)


def by_hour(traffic: Traffic) -> Modelled:
    """Forecast each hour at its begin, with a model of five-minute steps; 0 in the first hour."""
    settings = LoadSettings(step_s=STEP_S, horizon_s=HOUR_S)
    hours, _minutes, partitions = traffic.arrivals.shape
    a_step, an_hour = STEP_S // 60, HOUR_S // STEP_S
    steps = traffic.arrivals.reshape(hours * an_hour, a_step, partitions).sum(axis=1)
    forecasts = modelled(steps, traffic.begin_s, settings)
    nothing = np.zeros((1, partitions))
    return Modelled(
        *(np.vstack([nothing, np.nan_to_num(part[an_hour - 1 : -1 : an_hour])]) for part in forecasts)
    )


def throughput(traffic: Traffic, window_s: float) -> Forecasts:
    """Expect in each hour the rate that ``load_source="throughput"`` measured before, once a minute.

    Args:
        traffic: the flights.
        window_s: seconds over which rates are measured; the option ``load_horizon_ms``.
    """
    hours, minutes, partitions = traffic.arrivals.shape
    named = [TopicPartition(TOPIC, p) for p in range(partitions)]
    meter, expected = Throughput(window_s), np.zeros((hours, partitions))
    ends = traffic.arrivals.reshape(-1, partitions).cumsum(axis=0).astype(int).tolist()
    for minute, of_minute in enumerate(ends):
        if minute % minutes == 0:
            rates = meter.rates(named)
            expected[minute // minutes] = [HOUR_S * rates.get(partition, 0.0) for partition in named]
        meter.measure(dict(zip(named, of_minute, strict=True)), (minute + 1) * HOUR_S / minutes)
    return expected


def oracle(traffic: Traffic) -> Forecasts:
    """Return the arrivals themselves, as a perfect forecast."""
    return traffic.hours


FORECASTS: Mapping[str, Callable[[Traffic], Forecasts]] = {
    "last hour": last_hour,
    "hour of week": hour_of_week,
    "throughput, by default": partial(throughput, window_s=CooperativeLagOptions().load_horizon_ms / 1000),
    "throughput, of an hour": partial(throughput, window_s=HOUR_S),
    "arrivals known": oracle,
}


# --- plans, hour by hour -----------------------------------------------------------------------------------


def on_its_own(case: Case, traffic: Traffic, kind: str, foreseen: Forecasts | None) -> list[Outcome]:
    """Plan every hour in one way, each time from the lag and owners that this way left the hour before."""
    lag, owners = np.zeros(traffic.arrivals.shape[2]), None
    outcomes_by_hour = []
    for hour in range(case.first, len(traffic.arrivals)):
        given = plan(case, kind, lag, owners, None if foreseen is None else foreseen[hour])
        result = work_off(lag, traffic.arrivals[hour], given, case.members, case.rate)
        outcomes_by_hour.append(Outcome(result, moved(owners, given)))
        owners, lag = given, result.left
    return outcomes_by_hour


# --- the program -------------------------------------------------------------------------------------------


def beside_lag(case: Case, outcomes_of: Mapping[str, Sequence[Outcome]]) -> Iterator[Sequence[object]]:
    """Yield rows: each way of planning beside lag alone, from the same state."""
    least, by_lag = case.rate * LEAST_S / 60, largest(outcomes_of["lag"])
    for kind, outcomes in outcomes_of.items():
        if kind == "lag":
            continue
        figures = compare(largest(outcomes), by_lag, least)
        partition = compare(largest(outcomes, "partition"), largest(outcomes_of["lag"], "partition"), least)
        yield (
            kind,
            *(
                f"{figures.better} / {figures.same} / {figures.worse}",
                _percent(-figures.gain),
                _percent(figures.loss),
            ),
            f"{figures.p10:.2f} / {figures.median:.2f} / {figures.p90:.2f}",
            f"{partition.better} / {partition.same} / {partition.worse}",
            f"{sum(outcome.moved for outcome in outcomes):,}",
        )


def by_time_of_day(
    traffic: Traffic, case: Case, outcomes_of: Mapping[str, Sequence[Outcome]], kind: str
) -> Iterator[Sequence[object]]:
    """Yield rows: one way of planning beside lag alone, by hours of the day (UTC)."""
    ours, by_lag = largest(outcomes_of[kind]), largest(outcomes_of["lag"])
    hours = (traffic.begin_s // HOUR_S + case.first + np.arange(len(ours))) % DAY
    for begin in range(0, DAY, BLOCK):
        here = (hours >= begin) & (hours < begin + BLOCK)
        figures = compare(ours[here], by_lag[here], case.rate * LEAST_S / 60)
        yield (
            f"{begin:02}-{begin + BLOCK:02}",
            *(f"{by_lag[here].mean():.1f}", f"{ours[here].mean():.1f}"),
            *(
                f"{figures.better} / {figures.same} / {figures.worse}",
                _percent(-figures.gain),
                _percent(figures.loss),
            ),
        )


def alone(case: Case, traffic: Traffic, forecasts: Mapping[str, Forecasts]) -> Iterator[Sequence[object]]:
    """Yield rows: each way of planning, from its own state all the time."""
    for kind, foreseen in {"counts": None, "lag": None, **forecasts}.items():
        outcomes = on_its_own(case, traffic, kind, foreseen)
        lags = largest(outcomes)
        yield (
            kind,
            *(f"{lags.mean():.2f}", f"{np.quantile(lags, 0.9):.1f}", f"{np.quantile(lags, 0.99):.1f}"),
            *(f"{lags.max():.1f}", f"{largest(outcomes, 'partition').mean():.2f}"),
            f"{sum(outcome.moved for outcome in outcomes):,}",
        )


def table(head: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Print a table as Markdown, row by row."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in lines:
        print(f"| {' | '.join(row)} |")
    for cells in rows:
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print()


def _percent(part: float) -> str:
    return "-" if np.isnan(part) else f"{100 * part:+.0f} %"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=18)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--weeks", type=int, default=10, help="of the year, from its beginning")
    parser.add_argument("--learn", type=int, default=4, help="of these, before the first plan")
    parser.add_argument("--busy", type=float, nargs="+", default=[0.8, 0.95, 1.1])
    parser.add_argument("--skew", type=int, default=1, help="max_partition_skew; 0: None")
    given = parser.parse_args(arguments)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), end="\n\n")
    traffic = flights(given.partitions, given.weeks)
    first = given.learn * WEEK
    hours = traffic.hours
    ours = by_hour(traffic)
    forecasts = {name: make(traffic) for name, make in FORECASTS.items()} | {
        "load model" + f" + {margin:g} errors" * (margin > 0): ours.arrivals + margin * ours.error
        for margin in MARGINS
    }
    table(
        ["forecast", "mean error, records an hour and partition"],
        ([name, f"{np.abs(forecast - hours)[first:].mean():.2f}"] for name, forecast in forecasts.items()),
    )
    for busy in given.busy:
        rate = rate_for(traffic, given.members, busy)
        case = Case(given.members, rate, given.skew or None, first)
        print(f"busy {busy:g}: {given.members} members of {60 * rate:.1f} records/h")
        per_hour = hours[first:].sum(axis=1).mean()
        print(f"{len(hours) - first:,} hours of {per_hour:.0f} records, {given.partitions} partitions\n")
        outcomes = from_one_state(case, traffic, {"counts": None, **forecasts})
        table(
            ["planned from", "better / same / worse", "better by", "worse by", "p10 / median / p90",
             "partition: better / same / worse", "moved"],
            beside_lag(case, outcomes),
        )  # fmt: skip
        table(
            ["UTC", "by lag", "load model", "better / same / worse", "better by", "worse by"],
            by_time_of_day(traffic, case, outcomes, "load model"),
        )
        table(
            ["on its own", "mean", "p90", "p99", "largest", "partition: mean", "moved"],
            alone(case, traffic, forecasts),
        )


if __name__ == "__main__":
    main()
