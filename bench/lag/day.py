"""``python -m bench.lag.day``: a group scaled through a day of flights, by KEDA's rule and by `size`.

docs/benchmarks.md, "Scaling through a day", describes the measurement.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from bench.lag.autoscaler import Autoscaler, Keda, ScaledGroup, Sized, View
from bench.lag.forecasts import table
from bench.machine import machine
from demo.data.events import Flight, find_archive, read_flights
from demo.data.flight_samples import partition_of
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.model import Model
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.simulation import History, Pauses, Scenario, Strategy, simulate
from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.sizing import Target

DAY_S, MINUTE_S = 86_400, 60
MORNING_S = 8 * 3600  # 3 o'clock in New York, when the fewest flights are in the air
MPH, TAXI_S = 420, 1800
SEND_HZ = 10  # positions that each flight sends a second
STRATEGIES = {
    "counts": simulated("cooperative-sticky"),
    "forecasts": simulated("cooperative-lag-aware", by_load=True),
}
PAUSES = Pauses(start_s=20.0)  # a pod starts in 20 s
FORECAST = LoadSettings(step_s=300, horizon_s=3600)
HEAD = ("rule", "member-hours", "most members", "minutes over", "longest wait", "p99", "scalings", "moves")


class Case(NamedTuple):
    """A day of traffic.

    Attributes:
        commit_age_s: age of the committed offsets from which the autoscaler computes lag, seconds.
        expected: records forecast for the next hour, by step of five minutes and partition.
    """

    history: History
    strategy: Strategy
    commit_age_s: float
    expected: Levels


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a rule.

    Attributes:
        over: number of minutes at whose end a record had waited longer than the target.
        p99_s: the wait that is not exceeded in 99 % of partitions and time.
    """

    rule: str
    member_s: float
    most: int
    over: int
    longest_s: float
    p99_s: float
    scalings: int
    moved: int

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        return (
            self.rule,
            f"{self.member_s / 3600:,.1f}",
            f"{self.most}",
            f"{self.over:,}",
            f"{self.longest_s:,.0f} s",
            f"{self.p99_s:,.1f} s",
            f"{self.scalings:,}",
            f"{self.moved:,}",
        )


# --- the day -----------------------------------------------------------------------------------------------


def airborne_s(flight: Flight) -> float:
    """Return the seconds from a flight's departure until it has landed."""
    return TAXI_S + 3600 * float(json.loads(flight.value)["distance"]) / MPH


def positions(flights: Sequence[Flight], partitions: int, begin_s: int, minutes: int) -> Counts:
    """Return the positions by minute and partition: flights send them from departure to landing."""
    place = cache(lambda key: partition_of(key, partitions))
    change = np.zeros((minutes + 1, partitions), np.int64)
    for flight in flights:
        landed = flight.at + round(airborne_s(flight))
        first, last = ((at - begin_s) // MINUTE_S for at in (flight.at, landed))
        change[min(max(first, 0), minutes), place(flight.key)] += 1
        change[min(max(last, 0), minutes), place(flight.key)] -= 1
    in_the_air: Counts = np.cumsum(change[:-1], axis=0)
    return in_the_air * SEND_HZ * MINUTE_S


def forecasts(arrivals: Counts, begin_s: int, first: int) -> Levels:
    """Return the load model's forecasts of the next hour, every five minutes from minute ``first`` on."""
    each = int(FORECAST.step_s) // MINUTE_S
    steps = arrivals.reshape(-1, each, arrivals.shape[1]).sum(axis=1)
    expected = np.zeros((len(steps) - first // each, arrivals.shape[1]))
    for partition, arrived in enumerate(steps.T.tolist()):
        model, at = Model(FORECAST), begin_s * 1_000_000
        for step, records in enumerate(arrived):
            if step >= first // each:
                outlook = model.outlook(at)
                expected[step - first // each, partition] = 0.0 if outlook is None else outlook.arrivals
            at += FORECAST.step
            model.learn(at, records)
    return expected


def case_of(
    flights: Sequence[Flight],
    partitions: int,
    day: int,
    *,
    busiest: int,
    commit_age_s: float,
    strategy: Strategy,
) -> Case:
    """Return a day; ``busiest`` members just keep up with its busiest minute."""
    begin_s = flights[0].at // DAY_S * DAY_S + MORNING_S
    first = day * DAY_S // MINUTE_S
    arrivals = positions(flights, partitions, begin_s, first + DAY_S // MINUTE_S)
    today, expected = arrivals[first:], forecasts(arrivals, begin_s, first)
    known = np.repeat(expected, int(FORECAST.step_s) // MINUTE_S, axis=0)
    history = History(
        group="flights",
        step_s=MINUTE_S,
        topics={"flights": partitions},
        arrivals=today,
        start_lags=np.zeros(partitions, np.int64),
        service_rate=float(today.sum(axis=1).max()) / MINUTE_S / busiest,
        expected=np.vstack([known[1:], known[-1:]]),  # the forecast at the end of each minute
        horizon_s=FORECAST.horizon_s,
        starts_at=begin_s + day * DAY_S,
    )
    return Case(history, strategy, commit_age_s, expected)


# --- the rules ---------------------------------------------------------------------------------------------


def scaled(name: str, case: Case, rule: Autoscaler, target: Target) -> Row:
    """Scale a group through the day by a rule."""
    group = ScaledGroup(case.history, case.strategy, PAUSES, rule, commit_age_s=case.commit_age_s)
    outcome = group.play()
    assert outcome.series is not None
    over = int((outcome.series.time_lag > target.max_time_lag_s).sum())
    waits = outcome.time_lag_max, outcome.time_lag_p99
    return Row(name, group.member_s, group.most, over, *waits, group.scalings, outcome.moved)


def fixed(case: Case, target: Target) -> Row:
    """Return the row of the least fixed size that holds the target all day, by trying every size."""
    for members in range(1, case.history.partitions + 1):
        outcome = simulate(case.history, Scenario("day", case.strategy, members))
        assert outcome.series is not None
        over = int((outcome.series.time_lag > target.max_time_lag_s).sum())
        if outcome.time_lag_max <= target.max_time_lag_s or members == case.history.partitions:
            break
    name = f"fixed: {members}, the least for the day"
    waits = outcome.time_lag_max, outcome.time_lag_p99
    return Row(name, members * case.history.length_s, members, over, *waits, 0, 0)


def thresholds(case: Case, count: int) -> list[int]:
    """Return thresholds to try: the records that a member reads in times from 0.25 s to two minutes."""
    rate = case.history.service_rate or 1.0
    return sorted({max(round(rate * seconds), 1) for seconds in np.geomspace(0.25, 120, count).tolist()})


def tuned(case: Case, target: Target, count: int) -> Iterator[Row]:
    """Yield KEDA's rule with the threshold that was best: the cheapest that holds, else the least over."""
    rows = [
        scaled(f"KEDA, `lagThreshold: {threshold}`", case, Keda(threshold), target)
        for threshold in thresholds(case, count)
    ]
    holding = [row for row in rows if row.longest_s <= target.max_time_lag_s]
    if holding:
        yield min(holding, key=lambda row: row.member_s)
    else:
        yield min(rows, key=lambda row: (row.over, row.member_s))


def by_forecast(case: Case) -> Callable[[View], Levels]:
    """Return a function from a view to the records/s that the load model expects in the next hour."""

    def expected(view: View) -> Levels:
        step = min(int(view.now_s // FORECAST.step_s), len(case.expected) - 1)
        rates: Levels = case.expected[step] / FORECAST.horizon_s
        return rates

    return expected


def rows_of(case: Case, target: Target, count: int) -> Iterator[Row]:
    """Yield the rows of the table."""
    yield fixed(case, target)
    yield scaled("KEDA, default (`lagThreshold: 10`)", case, Keda(10), target)
    yield from tuned(case, target, count)
    yield scaled("`size`", case, Sized(target, case.strategy, case.history), target)
    without = replace(target, headroom=0.0)  # KEDA's rule keeps no headroom
    yield scaled("`size --headroom 0`", case, Sized(without, case.strategy, case.history), target)
    sized = Sized(target, case.strategy, case.history, by_forecast(case))
    yield scaled("`size`, with forecasts", case, sized, target)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each day."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.day", description=__doc__)
    parser.add_argument(
        "--days", type=int, nargs="+", default=[31], help="after the first of 2013 (default 31)"
    )
    parser.add_argument("--partitions", type=int, default=36)
    parser.add_argument("--busiest", type=int, default=8, help="members that keep up with the busiest minute")
    parser.add_argument(
        "--plan", choices=STRATEGIES, default="counts", help="the group's strategy plans by (default counts)"
    )
    parser.add_argument("--target", type=float, default=60.0, help="seconds that a record may wait")
    parser.add_argument(
        "--commit-age",
        type=float,
        default=2.5,
        help="age of commits, seconds (default 2.5, half of the interval of auto-commit)",
    )
    parser.add_argument("--thresholds", type=int, default=40, help="values of lagThreshold to try")
    given = parser.parse_args(arguments)
    print("\n".join(f"{name}: {value}" for name, value in machine().items()), file=sys.stderr)
    target = Target(given.target)
    flights = read_flights(find_archive(), span=(max(given.days) + 2) * DAY_S)
    for day in given.days:
        case = case_of(
            flights,
            given.partitions,
            day,
            busiest=given.busiest,
            commit_age_s=given.commit_age,
            strategy=STRATEGIES[given.plan],
        )
        rate = case.history.service_rate or 0.0
        print(f"\nday {day}: {case.history.records:,} records, a member reads {rate:,.0f} records/s\n")
        table(HEAD, (row.cells() for row in rows_of(case, target, given.thresholds)))


if __name__ == "__main__":
    main()
