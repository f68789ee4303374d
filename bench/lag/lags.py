"""``python -m bench.lag.lags``: how good the plans by lag are, and how long they take.

docs/benchmarks.md, "Lag-aware plans", describes the measurement.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.machine import machine
from kafka_assignors.plan import (
    NO_MEMBER,
    Assignment,
    Claims,
    Group,
    Member,
    measure,
    plan_cooperative_lag_aware,
    plan_fair,
    plan_lag_aware,
    resolve,
)
from kafka_assignors.plan.bounds import LagBound
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.working_plan import LoadProblem

SHAPES = ("zipf", "pareto", "lognormal", "bimodal", "uniform", "zero")
KINDS = ("uniform", "half", "tiers")  # as in problems.py
TOPICS = {10: (2, 5), 100: (10, 10), 1_000: (20, 50), 10_000: (100, 100)}
MEMBERS = {10: (2, 3, 4), 100: (5, 10, 30), 1_000: (10, 30, 100), 10_000: (30, 100, 300)}
CHANGED = 10  # one in so many partitions swaps its lag with another one before the second plan

HEAD = (
    "lag", "partitions", "fresh / bound", "KIP-169 / bound", "within", "changed: before / bound",
    "after / bound", "moved", "least", "by default moved", "ms fresh", "ms changed",
)  # fmt: skip


class Figures(NamedTuple):
    """The figures of one group; loads are divided by the least load or its proven bound."""

    fresh: float
    greedy: float
    within: bool
    before: float
    after: float
    moved: int
    least_moves: int
    moved_by_default: int
    fresh_ms: float
    changed_ms: float


@dataclass(frozen=True, slots=True)
class Case:
    """A group: shape of its lags, numbers of partitions and members, kind of subscriptions, and a seed."""

    shape: str
    partitions: int
    members: int
    kind: str
    seed: int

    def group(self) -> Group:
        """Return the group before its first plan."""
        topics, each = TOPICS[self.partitions]
        lags = lags_of(self.shape, self.partitions, np.random.default_rng(self.seed)).reshape(topics, each)
        names = [f"t{i:03}" for i in range(topics)]
        rng = random.Random(self.seed)
        members = []
        for i in range(self.members):
            mine = names
            if self.kind == "half":
                mine = rng.sample(names, max(topics // 2, 1))
            elif self.kind == "tiers" and i >= self.members // 2:
                mine = names[: max(topics // 2, 1)]
            members.append(Member(f"m{i:03}", frozenset(mine)))
        by_topic = dict(zip(names, lags.tolist(), strict=True))
        return Group(tuple(members), dict.fromkeys(names, each), lags=by_topic)

    def changed(self, group: Group, plan: Assignment) -> Group:
        """Return the group after this plan, with the lags of some partitions swapped."""
        rng = random.Random(self.seed + 1)
        flat = [lag for lags in group.lags.values() for lag in lags]
        swapped = rng.sample(range(len(flat)), max(len(flat) // CHANGED, 2))
        for partition, other in pairwise(swapped):
            flat[partition], flat[other] = flat[other], flat[partition]
        members = tuple(replace(m, owned=plan[m.member_id], generation=1) for m in group.members)
        each = TOPICS[self.partitions][1]
        lags = {t: flat[i * each : (i + 1) * each] for i, t in enumerate(group.lags)}
        return replace(group, members=members, lags=lags)


def lags_of(shape: str, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return lags (records) in random order."""
    if shape == "zipf":
        lags = 1e6 / np.arange(1, count + 1) ** 1.1
    elif shape == "pareto":
        lags = 1000 * (rng.pareto(1.2, count) + 1)
    elif shape == "lognormal":
        lags = rng.lognormal(8, 1.5, count)
    elif shape == "bimodal":
        lags = np.where(
            rng.random(count) < 0.1, rng.normal(100_000, 10_000, count), rng.normal(1000, 100, count)
        )
    elif shape == "uniform":
        lags = rng.uniform(0, 100_000, count)
    elif shape == "zero":
        lags = np.zeros(count)
    else:
        raise ValueError(f"no shape {shape!r}, only {', '.join(SHAPES)}")
    whole: npt.NDArray[np.int64] = np.maximum(lags, 0).astype(np.int64)
    rng.shuffle(whole)
    return whole


def least_load(group: Group) -> int:
    """Return the least maximum load of fair plans: exact for small groups (by scipy), else a proven bound."""
    if group.size <= 10:
        from tests.support.plan.load_oracle import least_load as solved

        squares = int((plan_fair(group).counts ** 2).sum())
        if (exact := solved(group, squares)) is not None:
            return exact
    return fair_lag_bound(group)


def fair_lag_bound(group: Group) -> int:
    """Return a lower bound of the largest load of fair plans."""
    return LagBound(group).of_plans(CountRule(LoadProblem(group), 1).fewest(plan_fair(group).owners))


def moves_lower_bound(group: Group, claims: Claims, load: int) -> int:
    """Return a lower bound of the moves of owned partitions in any plan whose loads are at most ``load``.

    A member that owns more must give partitions away, at best its heaviest.  Cost: a sort.
    """
    owned = np.flatnonzero(claims.owner != NO_MEMBER)
    owner, lag = claims.owner[owned], group.lag[owned]
    order = np.lexsort((-lag, owner))
    moves = 0
    lags = np.split(lag[order], np.cumsum(np.bincount(owner, minlength=len(group.members)))[:-1])
    for of_member, room in zip(lags, group.capacities.rooms(load), strict=False):
        excess = int(of_member.sum()) - room
        if excess > 0:
            moves += int(np.searchsorted(np.cumsum(of_member), excess)) + 1
    return moves


def figures(case: Case, clock: Callable[[], float] = time.process_time) -> Figures:
    """Plan for a fresh group, and again after its lags have changed."""
    group = case.group()
    nothing = resolve(group)
    started = clock()
    fresh = plan_cooperative_lag_aware(group, nothing)
    fresh_s = clock() - started
    least = least_load(group)
    greedy = plan_lag_aware(group)
    squares = [int((plan.counts**2).sum()) for plan in (fresh, greedy)]

    then = case.changed(group, fresh)
    claims = resolve(then)
    started = clock()
    again = plan_cooperative_lag_aware(then, claims, min_improvement=0)
    again_s = clock() - started
    default = plan_cooperative_lag_aware(then, claims)
    least_then = least_load(then)
    figure = measure(then, claims, again)
    return Figures(
        ratio(measure(group, nothing, fresh).max_load, least),
        ratio(measure(group, nothing, greedy).max_load, least),
        squares[0] == squares[1],
        ratio(measure(then, claims, fresh).max_load, least_then),
        ratio(figure.max_load, least_then),
        figure.moved,
        moves_lower_bound(then, claims, figure.max_load or 0),
        measure(then, claims, default).moved,
        1000 * fresh_s,
        1000 * again_s,
    )


def ratio(load: int | None, least: int) -> float:
    """Return a load divided by the least load; 1 without load."""
    return (load or 0) / least if least else 1.0


def row(shape: str, partitions: int, found: Sequence[Figures]) -> list[str]:
    """Return a row of the table: medians and, after a slash, worst values; means of the moves."""

    def both(values: Sequence[float], digits: int = 3) -> str:
        return f"{statistics.median(values):,.{digits}f} / {max(values):,.{digits}f}"

    def mean(values: Sequence[float]) -> str:
        return f"{statistics.mean(values):,.1f}"

    return [
        shape,
        f"{partitions:,}",
        both([f.fresh for f in found]),
        both([f.greedy for f in found], 2),
        f"{100 * statistics.mean(f.within for f in found):.0f} %",
        both([f.before for f in found], 2),
        both([f.after for f in found]),
        mean([f.moved for f in found]),
        mean([f.least_moves for f in found]),
        mean([f.moved_by_default for f in found]),
        both([f.fresh_ms for f in found], 1),
        both([f.changed_ms for f in found], 1),
    ]


def cases(
    shape: str, partitions: int, kinds: Sequence[str], seeds: int, members_of: Sequence[int] = ()
) -> Iterator[Case]:
    """Yield all cases of a row, by default with the numbers of ``MEMBERS``."""
    for kind in kinds:
        for members in members_of or MEMBERS[partitions]:
            for seed in range(1 if shape == "zero" else seeds):
                yield Case(shape, partitions, members, kind, seed)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print the table row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.lags", description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--partitions", nargs="+", type=int, default=list(TOPICS), choices=TOPICS)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--members", nargs="+", type=int, default=(), help="instead of the usual numbers")
    parser.add_argument("--wall", action="store_true", help="by the clock, not the processor's time")
    parser.add_argument("--seeds", type=int, default=3, help="groups of each kind and size (default 3)")
    options = parser.parse_args(arguments)
    clock = time.perf_counter if options.wall else time.process_time
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * 2}{' ---: |' * (len(HEAD) - 2)}", flush=True)
    for partitions in options.partitions:
        for shape in options.shapes:
            of_row = cases(shape, partitions, options.kinds, options.seeds, options.members)
            case_figures = [figures(case, clock) for case in of_row]
            print(f"| {' | '.join(row(shape, partitions, case_figures))} |", flush=True)
    print("\n" + ", ".join(f"{name} {value}" for name, value in machine().items()))


if __name__ == "__main__":
    main()
