"""``python -m tests.bench.forecasts``: what plans from forecasts win over plans from lag, on the flights.

docs/benchmarks.md, "Plans from forecasts", says what is measured and how.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.model import Model
from kafka_assignors.plan import plan_cooperative_lag_aware, resolve, with_expected
from tests.bench.machine import machine
from tests.bench.traffic import HOUR_S, Hour, Numbers, Owners, Traffic, flights, group_of, named, work_off

WEEK, DAY = 7 * 24, 24
STEP_S = 300
BUSIEST = 0.02  # the part of all hours whose least traffic is what the members' rate is measured by
SAME = 0.02  # less of a difference is none
LEAST_S = 120  # in seconds of a member's work: hours in which nobody lags that much are left out
BLOCK = 4  # hours of the day that are shown together

Forecasts = Numbers  # by hour and partition: records expected in it, from what was known when it began


# --- forecasts ---------------------------------------------------------------------------------------------


def last_hour(traffic: Traffic) -> Forecasts:
    """The hour before again."""
    return np.vstack([np.zeros_like(traffic.hours[:1]), traffic.hours[:-1]])


def hour_of_week(traffic: Traffic) -> Forecasts:
    """The mean of the same hour in the weeks before; 0 in the first week."""
    hours = traffic.hours
    expected = np.zeros_like(hours)
    for hour in range(WEEK, len(hours)):
        expected[hour] = hours[hour % WEEK : hour : WEEK].mean(axis=0)
    return expected


def load_model(traffic: Traffic) -> Forecasts:
    """The project's own: level, trend and season, learnt in steps of five minutes."""
    settings = LoadSettings(step_s=STEP_S, horizon_s=HOUR_S)
    hours, _minutes, partitions = traffic.arrivals.shape
    steps = traffic.arrivals.reshape(hours, HOUR_S // STEP_S, -1, partitions).sum(axis=2).astype(int)
    expected = np.zeros((hours, partitions))
    for p in range(partitions):
        model, at = Model(settings), traffic.begin_s * 1_000_000
        for hour, of_hour in enumerate(steps[:, :, p].tolist()):
            outlook = model.outlook(at)
            expected[hour, p] = 0.0 if outlook is None else outlook.arrivals
            for arrived in of_hour:
                at += settings.step
                model.learn(at, arrived)
    return expected


def oracle(traffic: Traffic) -> Forecasts:
    """What does come."""
    return traffic.hours


FORECASTS: Mapping[str, Callable[[Traffic], Forecasts]] = {
    "last hour": last_hour,
    "hour of week": hour_of_week,
    "load model": load_model,
    "arrivals known": oracle,
}


# --- plans, hour by hour -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A group and how busy it is.

    Attributes:
        members: how many.
        rate: records a member can do in a minute.
        skew: ``max_partition_skew``.
        first: the hour to begin with; all before it can be learnt from.
    """

    members: int
    rate: float
    skew: int | None
    first: int


class Outcome(NamedTuple):
    """What one way of planning came to in an hour."""

    hour: Hour
    moved: int


def plan(case: Case, kind: str, lag: Numbers, before: Owners | None, expected: Numbers | None) -> Owners:
    """Plan an hour, as the strategy does; ``counts`` knows nothing, ``lag`` only that."""
    group = group_of(before, lag, case.members)
    if kind == "counts":
        group = replace(group, lags={})
    elif expected is not None:
        group = with_expected(group, named(expected), {})
    return plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=case.skew).owners


def from_one_state(
    case: Case, traffic: Traffic, forecasts: Mapping[str, Forecasts]
) -> dict[str, list[Outcome]]:
    """Every hour, all ways of planning from the same lag and owners: those of a group that plans by lag."""
    kinds = {"lag": None, "counts": None, **forecasts}
    lag, owners = np.zeros(traffic.arrivals.shape[2]), None
    found: dict[str, list[Outcome]] = {kind: [] for kind in kinds}
    for hour in range(case.first, len(traffic.arrivals)):
        after = {}
        for kind, foreseen in kinds.items():
            given = plan(case, kind, lag, owners, None if foreseen is None else foreseen[hour])
            result = work_off(lag, traffic.arrivals[hour], given, case.members, case.rate)
            found[kind].append(Outcome(result, _moved(owners, given)))
            after[kind] = given, result
        owners, lag = after["lag"][0], after["lag"][1].left
    return found


def on_its_own(case: Case, traffic: Traffic, kind: str, foreseen: Forecasts | None) -> list[Outcome]:
    """Every hour one way of planning, from what it came to in the hour before."""
    lag, owners = np.zeros(traffic.arrivals.shape[2]), None
    found = []
    for hour in range(case.first, len(traffic.arrivals)):
        given = plan(case, kind, lag, owners, None if foreseen is None else foreseen[hour])
        result = work_off(lag, traffic.arrivals[hour], given, case.members, case.rate)
        found.append(Outcome(result, _moved(owners, given)))
        owners, lag = given, result.left
    return found


def _moved(before: Owners | None, after: Owners) -> int:
    return 0 if before is None else int((before != after).sum())


# --- figures -----------------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """One way beside another: hours in which the largest lag was less, the same, more; and by how much.

    ``gain`` and ``loss`` are medians over the hours that were better, and worse; ``p10``, ``median`` and
    ``p90`` of the ratio, over all that are compared.  NaN: there was no such hour.
    """

    better: int
    same: int
    worse: int
    gain: float
    loss: float
    p10: float
    median: float
    p90: float


def compare(ours: Numbers, theirs: Numbers, least: float) -> Comparison:
    """Compare largest lags hour by hour; hours in which both are below ``least`` are left out."""
    counts = (ours >= least) | (theirs >= least)
    ratio = ours[counts] / np.maximum(theirs[counts], 1e-9)
    better, worse = ratio < 1 - SAME, ratio > 1 + SAME
    p10, median, p90 = np.quantile(ratio, [0.1, 0.5, 0.9]) if len(ratio) else [np.nan] * 3
    return Comparison(
        better=int(better.sum()),
        same=int((~better & ~worse).sum()),
        worse=int(worse.sum()),
        gain=float(1 - np.median(ratio[better])) if better.any() else np.nan,
        loss=float(np.median(ratio[worse]) - 1) if worse.any() else np.nan,
        p10=float(p10),
        median=float(median),
        p90=float(p90),
    )


def largest(outcomes: Sequence[Outcome], of: str = "member") -> Numbers:
    """The largest lag of a member, or of a partition, by hour."""
    return np.array([getattr(outcome.hour, of) for outcome in outcomes])


# --- the program -------------------------------------------------------------------------------------------


def rate_for(traffic: Traffic, members: int, utilisation: float) -> float:
    """Records a minute with which members are so busy in the busiest hours."""
    busiest: float = np.quantile(traffic.hours.sum(axis=1), 1 - BUSIEST)
    return busiest / utilisation / members / 60


def beside_lag(case: Case, found: Mapping[str, Sequence[Outcome]]) -> Iterator[Sequence[object]]:
    """Rows: each way of planning beside lag alone, from one state."""
    least, by_lag = case.rate * LEAST_S / 60, largest(found["lag"])
    for kind, outcomes in found.items():
        if kind == "lag":
            continue
        one = compare(largest(outcomes), by_lag, least)
        partition = compare(largest(outcomes, "partition"), largest(found["lag"], "partition"), least)
        yield (
            kind,
            *(f"{one.better} / {one.same} / {one.worse}", _percent(-one.gain), _percent(one.loss)),
            f"{one.p10:.2f} / {one.median:.2f} / {one.p90:.2f}",
            f"{partition.better} / {partition.same} / {partition.worse}",
            f"{sum(outcome.moved for outcome in outcomes):,}",
        )


def by_time_of_day(
    traffic: Traffic, case: Case, found: Mapping[str, Sequence[Outcome]], kind: str
) -> Iterator[Sequence[object]]:
    """Rows: one way of planning beside lag alone, by hours of the day (UTC)."""
    ours, by_lag = largest(found[kind]), largest(found["lag"])
    hours = (traffic.begin_s // HOUR_S + case.first + np.arange(len(ours))) % DAY
    for begin in range(0, DAY, BLOCK):
        here = (hours >= begin) & (hours < begin + BLOCK)
        one = compare(ours[here], by_lag[here], case.rate * LEAST_S / 60)
        yield (
            f"{begin:02}-{begin + BLOCK:02}",
            *(f"{by_lag[here].mean():.1f}", f"{ours[here].mean():.1f}"),
            *(f"{one.better} / {one.same} / {one.worse}", _percent(-one.gain), _percent(one.loss)),
        )


def alone(case: Case, traffic: Traffic, forecasts: Mapping[str, Forecasts]) -> Iterator[Sequence[object]]:
    """Rows: each way of planning on its own, all the time."""
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
    """Print it as Markdown, row by row."""
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
    forecasts = {name: make(traffic) for name, make in FORECASTS.items()}
    table(
        ["forecast", "mean error, records an hour and partition"],
        ([name, f"{np.abs(told - hours)[first:].mean():.2f}"] for name, told in forecasts.items()),
    )
    for busy in given.busy:
        rate = rate_for(traffic, given.members, busy)
        case = Case(given.members, rate, given.skew or None, first)
        print(f"busy {busy:g}: {given.members} members of {60 * rate:.1f} records/h")
        per_hour = hours[first:].sum(axis=1).mean()
        print(f"{len(hours) - first:,} hours of {per_hour:.0f} records, {given.partitions} partitions\n")
        found = from_one_state(case, traffic, forecasts)
        table(
            ["planned from", "better / same / worse", "better by", "worse by", "p10 / median / p90",
             "partition: better / same / worse", "moved"],
            beside_lag(case, found),
        )  # fmt: skip
        table(
            ["UTC", "by lag", "load model", "better / same / worse", "better by", "worse by"],
            by_time_of_day(traffic, case, found, "load model"),
        )
        table(
            ["on its own", "mean", "p90", "p99", "largest", "partition: mean", "moved"],
            alone(case, traffic, forecasts),
        )


if __name__ == "__main__":
    main()
