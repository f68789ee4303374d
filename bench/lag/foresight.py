"""Compares plans from forecasts with plans from lag: the same hours, planned both ways.  Pure.

An hour begins with a plan, as a rebalance would make it.  Then members process the arrivals, minute by
minute.  No plan knows later arrivals.  See docs/benchmarks.md, "Plans from forecasts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bench.lag.traffic import Hour, Numbers, Owners, Traffic, group_of, named, work_off
from kafka_assignors.plan import plan_cooperative_lag_aware, resolve, with_expected

BUSIEST = 0.02  # share of the busiest hours; the traffic of the least busy of them sets the members' rate
SAME = 0.02  # lags with a smaller relative difference count as the same
LEAST_S = 120  # seconds of a member's work; hours whose lags are all smaller are left out

Forecasts = Numbers
"""Records expected in each hour and partition, from the facts known at the begin of the hour."""


@dataclass(frozen=True, slots=True)
class Case:
    """A group and how busy it is.

    Attributes:
        members: number of members.
        rate: records that a member can process in a minute.
        skew: ``max_partition_skew``.
        first: the first hour with a plan; forecasts learn from the hours before it.
    """

    members: int
    rate: float
    skew: int | None
    first: int


class Outcome(NamedTuple):
    """The result of one way of planning in an hour."""

    hour: Hour
    moved: int


def plan(case: Case, kind: str, lag: Numbers, before: Owners | None, expected: Numbers | None) -> Owners:
    """Plan an hour, as the strategy does; ``counts`` uses neither lag nor forecasts, ``lag`` only lag."""
    group = group_of(before, lag, case.members)
    if kind == "counts":
        group = replace(group, lags={})
    elif expected is not None:
        group = with_expected(group, named(expected), {})
    return plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=case.skew).owners


def from_one_state(
    case: Case, traffic: Traffic, forecasts: Mapping[str, Forecasts | None]
) -> dict[str, list[Outcome]]:
    """Plan every hour in all ways from the same state: lag and owners of a group that plans by lag."""
    kinds: dict[str, Forecasts | None] = {"lag": None, **forecasts}
    lag, owners = np.zeros(traffic.arrivals.shape[2]), None
    outcomes: dict[str, list[Outcome]] = {kind: [] for kind in kinds}
    for hour in range(case.first, len(traffic.arrivals)):
        after = {}
        for kind, foreseen in kinds.items():
            given = plan(case, kind, lag, owners, None if foreseen is None else foreseen[hour])
            result = work_off(lag, traffic.arrivals[hour], given, case.members, case.rate)
            outcomes[kind].append(Outcome(result, moved(owners, given)))
            after[kind] = given, result
        owners, lag = after["lag"][0], after["lag"][1].left
    return outcomes


def moved(before: Owners | None, after: Owners) -> int:
    """Return the number of partitions that changed owner."""
    return 0 if before is None else int((before != after).sum())


class Comparison(NamedTuple):
    """One way beside another: number of hours in which the largest lag was less, the same, and more.

    ``gain`` is the median relative decrease in the better hours, ``loss`` the median increase in the worse.
    ``p10``, ``median`` and ``p90`` are quantiles of the ratio over all compared hours.  NaN: no such hour.
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
    """Return the largest lag of a member, or of a partition, by hour."""
    return np.array([getattr(outcome.hour, of) for outcome in outcomes])


def rate_for(traffic: Traffic, members: int, utilisation: float) -> float:
    """Return the records a minute of a member with which the busiest hours have this utilisation."""
    busiest: float = np.quantile(traffic.hours.sum(axis=1), 1 - BUSIEST)
    return busiest / utilisation / members / 60
