"""What plans from forecasts win over plans from lag: the same hours, planned both ways.  Pure.

An hour begins with a plan, as a rebalance would make it; then members work off what comes, minute by minute.
No plan knows of later arrivals.  docs/benchmarks.md, "Plans from forecasts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bench.lag.traffic import Hour, Numbers, Owners, Traffic, group_of, named, work_off
from kafka_assignors.plan import plan_cooperative_lag_aware, resolve, with_expected

BUSIEST = 0.02  # the part of all hours whose least traffic is what the members' rate is measured by
SAME = 0.02  # less of a difference is none
LEAST_S = 120  # in seconds of a member's work: hours without a lag as large are left out

Forecasts = Numbers
"""By hour and partition: records expected in it, from what was known when it began."""


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
    case: Case, traffic: Traffic, forecasts: Mapping[str, Forecasts | None]
) -> dict[str, list[Outcome]]:
    """Every hour, all ways of planning from the same lag and owners: those of a group that plans by lag."""
    kinds: dict[str, Forecasts | None] = {"lag": None, **forecasts}
    lag, owners = np.zeros(traffic.arrivals.shape[2]), None
    found: dict[str, list[Outcome]] = {kind: [] for kind in kinds}
    for hour in range(case.first, len(traffic.arrivals)):
        after = {}
        for kind, foreseen in kinds.items():
            given = plan(case, kind, lag, owners, None if foreseen is None else foreseen[hour])
            result = work_off(lag, traffic.arrivals[hour], given, case.members, case.rate)
            found[kind].append(Outcome(result, moved(owners, given)))
            after[kind] = given, result
        owners, lag = after["lag"][0], after["lag"][1].left
    return found


def moved(before: Owners | None, after: Owners) -> int:
    """How many partitions changed hands."""
    return 0 if before is None else int((before != after).sum())


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


def rate_for(traffic: Traffic, members: int, utilisation: float) -> float:
    """Records a minute with which members are so busy in the busiest hours."""
    busiest: float = np.quantile(traffic.hours.sum(axis=1), 1 - BUSIEST)
    return busiest / utilisation / members / 60
