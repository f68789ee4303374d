"""Find the exchange of partitions between two members that makes the larger of their loads smallest."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import Exchange, Indices, WorkingPlan
from kafka_assignors.plan.sticky.goals import Mask, Vector

_NEVER = 2**63 - 1

_WIDEST = 24
"""A member with more partitions than this is not tried with bundles: single partitions are choice enough."""


class RatedExchange(NamedTuple):
    """An exchange, and the larger of the two loads after it."""

    load: int
    exchange: Exchange


class Pair:
    """Two members, and the partitions that each may give to the other.

    Args:
        plan: the plan to change.
        high: the member with the larger load.
        low: the other member.
        steps: the net numbers of partitions that ``high`` may give.
        home: by partition, its owner before this plan.  An exchange may then not increase the number of
            partitions away from their owner before.  None: any exchange.
    """

    def __init__(
        self, plan: WorkingPlan, high: int, low: int, steps: list[int], home: Owners | None = None
    ) -> None:
        problem = plan.problem
        self.high, self.low, self.steps = high, low, steps
        self.gap = int(plan.loads[high] - plan.loads[low])
        self._capacities = capacities = problem.capacities
        self._records = records = int(plan.records[high]), int(plan.records[low])
        self.floor = int(plan.loads[low])
        parts = int(capacities.parts[high]), int(capacities.parts[low])
        # If high gives this many records, both loads are the same, or high's is just below.
        self.half = -((records[1] * parts[0] - records[0] * parts[1]) // (parts[0] + parts[1]))
        self.gives, self.give_lags = plan.parts[high], plan.lags[high]
        self.takes, self.take_lags = plan.parts[low], plan.lags[low]
        if not problem.equal:
            may = problem.subscribed[problem.topic_of[self.gives], low]
            self.gives, self.give_lags = self.gives[may], self.give_lags[may]
            may = problem.subscribed[problem.topic_of[self.takes], high]
            self.takes, self.take_lags = self.takes[may], self.take_lags[may]
        self.calm = home is not None
        if home is not None:
            # A partition that leaves home counts 1, a partition that comes home -1.
            owner = home[self.gives]
            self.give_costs = (owner == high).astype(np.int64) - (owner == low)
            owner = home[self.takes]
            self.take_costs = (owner == low).astype(np.int64) - (owner == high)

    def after(self, less: Vector) -> Vector:
        """The larger load above the old lower one, if ``high`` gives ``less`` records."""
        given = np.maximum(less, 0)
        high = self._capacities.of(self.high, self._records[0] - given)
        low = self._capacities.of(self.low, self._records[1] + given)
        after: Vector = np.where(less > 0, np.maximum(high, low) - self.floor, _NEVER)
        return after

    @property
    def work(self) -> int:
        """Cost of trying single partitions."""
        return len(self.gives) + len(self.takes)

    @property
    def work_in_bundles(self) -> int:
        """Cost of trying bundles."""
        gives, takes = len(self.gives), len(self.takes)
        if max(gives, takes) > _WIDEST:
            return 0
        return (1 + gives + gives * (gives - 1) // 2) * (1 + takes + takes * (takes - 1) // 2)


def best_single(pair: Pair) -> RatedExchange | None:
    """The best exchange of one partition for one, or for none.  Cost: a binary search for each."""
    if not pair.calm:
        return _single(pair, None, None)
    # The two costs of an exchange must add up to at most 0.
    gives, takes = pair.give_costs, pair.take_costs
    candidates = [_single(pair, gives <= 0, takes <= 0)]
    if (home := takes < 0).any():
        candidates.append(_single(pair, None, home))
    if (home := gives < 0).any():
        candidates.append(_single(pair, home, None))
    return min(filter(None, candidates), default=None, key=lambda candidate: candidate.load)


def _single(pair: Pair, gives: Mask | None, takes: Mask | None) -> RatedExchange | None:
    give, give_lags = (
        (pair.gives, pair.give_lags) if gives is None else (pair.gives[gives], pair.give_lags[gives])
    )
    take, take_lags = (
        (pair.takes, pair.take_lags) if takes is None else (pair.takes[takes], pair.take_lags[takes])
    )
    if not len(give):
        return None
    best, exchange = pair.gap, None
    # One for none brings nothing home, so a calm exchange must not give a partition that is at home.
    if 1 in pair.steps and not (pair.calm and gives is None):
        after = pair.after(give_lags)
        i = int(after.argmin())
        if after[i] < best:
            best, exchange = int(after[i]), Exchange(pair.high, pair.low, (int(give[i]),), ())
    if len(take) and 0 in pair.steps:
        middle = take_lags.searchsorted(give_lags - pair.half)
        for near in (np.maximum(middle - 1, 0), np.minimum(middle, len(take) - 1)):
            after = pair.after(give_lags - take_lags[near])
            i = int(after.argmin())
            if after[i] < best:
                best = int(after[i])
                exchange = Exchange(pair.high, pair.low, (int(give[i]),), (int(take[near[i]]),))
    return None if exchange is None else RatedExchange(pair.floor + best, exchange)


def best_bundles(pair: Pair) -> RatedExchange | None:
    """The best exchange of up to two partitions for up to two.  Cost: the fourth power of their number."""
    if max(len(pair.gives), len(pair.takes)) > _WIDEST:
        return None
    gives, takes = _bundles(len(pair.gives)), _bundles(len(pair.takes))
    step = _sizes(gives)[:, None] - _sizes(takes)
    less = _sums(pair.give_lags, gives)[:, None] - _sums(pair.take_lags, takes)
    allowed = np.isin(np.arange(-2, 3), pair.steps)[step + 2]
    if pair.calm:
        allowed &= _sums(pair.give_costs, gives)[:, None] + _sums(pair.take_costs, takes) <= 0
    after = np.where(allowed, pair.after(less), _NEVER)
    i = int(after.argmin())
    if after.flat[i] >= pair.gap:
        return None
    give, take = divmod(i, after.shape[1])
    exchange = Exchange(
        pair.high, pair.low, _partitions(pair.gives, gives, give), _partitions(pair.takes, takes, take)
    )
    return RatedExchange(pair.floor + int(after.flat[i]), exchange)


@lru_cache(maxsize=_WIDEST + 1)
def _bundles(count: int) -> tuple[Indices, Indices]:
    """Bundles of none, one or two of ``count`` partitions, as pairs of indices; ``count`` stands for none."""
    first, second = np.triu_indices(count, 1)
    return (
        np.concatenate([[count], np.arange(count), first]),
        np.concatenate([np.full(1 + count, count), second]),
    )


def _sums(values: Vector, bundles: tuple[Indices, Indices]) -> Vector:
    padded = np.append(values, 0)
    total: Vector = padded[bundles[0]] + padded[bundles[1]]
    return total


def _sizes(bundles: tuple[Indices, Indices]) -> Vector:
    count = int(bundles[0][0])
    return _sums(np.ones(count, np.int64), bundles)


def _partitions(partitions: Indices, bundles: tuple[Indices, Indices], bundle: int) -> tuple[int, ...]:
    return tuple(int(partitions[i[bundle]]) for i in bundles if i[bundle] < len(partitions))
