"""``python -m bench.lag.capacity``: how long members of capacity 1, 1, 2 and 4 take to drain a backlog.

docs/benchmarks.md, "Members that are not equal", describes the measurement.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bench.lag.forecasts import table
from bench.lag.lags import lags_of
from kafka_assignors.plan import Assignment, Claims, Group, Member, plan_cooperative_lag_aware, resolve
from kafka_assignors.simulation import History, Pauses, Scenario, Strategy, simulate

CAPACITIES = {"m1": 1.0, "m2": 1.0, "m3": 2.0, "m4": 4.0}
RATE = 1_000.0  # records/s of a member of capacity 1
SHAPES = ("pareto", "lognormal", "uniform")
SMALL_SIZES = (8, 12, 16, 24)  # partitions
SMALL_CAPACITIES = {"equal": (1.0,) * 4, "1, 1, 2 and 4": tuple(CAPACITIES.values())}
SOLVER_S = 5.0  # most seconds of the exact solver for a group
HEAD = ("lag", "partitions", "equal plan", "by capacity, even counts", "by capacity alone", "no plan below")


def drain_s(history: History, skew: int | None, *, by_capacity: bool) -> float:
    """Simulate the members until the backlog is read; return the seconds."""
    plan = partial(plan_cooperative_lag_aware if by_capacity else _plan_equal, max_partition_skew=skew)
    scenario = Scenario(
        "backlog",
        Strategy("cooperative-lag-aware", plan, cooperative=True, by_lag=True),
        len(CAPACITIES),
        capacities=CAPACITIES,
        pauses=Pauses(heartbeat_s=0, join_s=0, refetch_s=0),
        drain_limit_s=1e6,
    )
    return simulate(history, scenario, series=False).drain_s or 0.0


def _plan_equal(group: Group, claims: Claims, **options: Any) -> Assignment:
    """Plan as if all members had the same capacity."""
    equal = replace(group, members=tuple(replace(member, capacity=1.0) for member in group.members))
    return plan_cooperative_lag_aware(equal, claims, **options)


def backlog(shape: str, partitions: int, seed: int) -> History:
    """Return a backlog of 100,000 records in one topic, without arrivals."""
    lags = lags_of(shape, partitions, np.random.default_rng(seed)).astype(np.float64)
    return History(
        group="g",
        step_s=1.0,
        topics={"t": partitions},
        arrivals=np.zeros((1, partitions), np.int64),
        start_lags=np.rint(lags * 100_000 / lags.sum()).astype(np.int64),
        service_rate=RATE,
    )


def least_s(history: History) -> float:
    """Return a lower bound: no member is idle before the end, or one partition keeps the fastest busy."""
    total = history.start_lags.sum() / sum(CAPACITIES.values())
    return float(max(total, history.start_lags.max() / max(CAPACITIES.values()))) / RATE


def plan_times() -> Iterator[Sequence[str]]:
    """Yield rows: CPU time of a plan for 10,000 partitions and 100 members, and drain time over a bound."""
    kinds = {
        "equal": [1.0] * 100,
        "1, 1, 2 and 4": [*CAPACITIES.values()] * 25,
        "100 different ones": np.linspace(1, 4, 100).tolist(),
    }
    lags = lags_of("pareto", 10_000, np.random.default_rng(0))
    for kind, capacities in kinds.items():
        members = tuple(
            Member(f"m{number:03}", frozenset({"t"}), capacity=capacity)
            for number, capacity in enumerate(capacities)
        )
        seconds = []
        for _ in range(5):
            group = Group(members, {"t": len(lags)}, lags={"t": lags.tolist()})
            claims = resolve(group)
            before = time.process_time()
            plan = plan_cooperative_lag_aware(group, claims, max_partition_skew=None)
            seconds.append(time.process_time() - before)
        loads = np.bincount(plan.owners, lags, minlength=len(members)) / np.array(capacities)
        bound = max(lags.sum() / sum(capacities), lags.max() / max(capacities))
        yield (
            kind,
            f"{statistics.median(seconds):.2f} s",
            f"{max(seconds):.2f} s",
            f"{loads.max() / bound:.4f}",
        )


def small_groups(groups: int) -> Iterator[Sequence[str]]:
    """Yield rows: how often plans of small groups have the least largest load, by an exact solver."""
    from tests.support.plan.load_oracle import largest, least_load
    from tests.support.plan.oracle import by_partition

    for partitions, (kind, capacities), skew in product(SMALL_SIZES, SMALL_CAPACITIES.items(), (1, None)):
        ratios: list[float] = []
        for seed in range(groups):
            lags = lags_of(SHAPES[seed % len(SHAPES)], partitions, np.random.default_rng(seed))
            members = tuple(
                Member(f"m{number}", frozenset({"t"}), capacity=capacity)
                for number, capacity in enumerate(capacities)
            )
            group = Group(members, {"t": partitions}, lags={"t": lags.tolist()})
            plan = plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=skew)
            squares = int((plan.counts**2).sum()) if skew else None
            if (least := least_load(group, squares, SOLVER_S)) is not None:
                ratios.append(largest(group, by_partition(plan)) / least)
        yield (
            f"{partitions}",
            kind,
            "even" if skew else "any",
            f"{len(ratios)}",
            f"{100 * statistics.mean(ratio == 1 for ratio in ratios):.0f} %" if ratios else "-",
            f"{100 * (max(ratios) - 1):.2f} %" if ratios else "-",
        )


def drain_times(seeds: int) -> Iterator[Sequence[object]]:
    """Yield rows: the median time to drain backlogs of one shape and number of partitions, with a bound."""
    for shape, partitions in product(SHAPES, (16, 64, 256)):
        backlogs = [backlog(shape, partitions, seed) for seed in range(seeds)]
        columns = (
            [drain_s(history, 1, by_capacity=False) for history in backlogs],
            [drain_s(history, 1, by_capacity=True) for history in backlogs],
            [drain_s(history, None, by_capacity=True) for history in backlogs],
            [least_s(history) for history in backlogs],
        )
        yield shape, partitions, *(f"{statistics.median(column):,.1f} s" for column in columns)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print the table that the options select."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.capacity", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="backlogs of each kind and size (default 5)")
    parser.add_argument("--plans", action="store_true", help="only the time of large plans")
    parser.add_argument(
        "--small", type=int, metavar="GROUPS", help="only plans of small groups, beside an exact solver's"
    )
    options = parser.parse_args(arguments)
    if options.small:
        head = ("partitions", "capacities", "counts", "solved", "least load", "worst above it")
        table(head, small_groups(options.small))
        return
    if options.plans:
        table(("capacities", "plan, median", "longest of 5", "drain time / bound"), plan_times())
        return
    table(HEAD, drain_times(options.seeds))


if __name__ == "__main__":
    main()
