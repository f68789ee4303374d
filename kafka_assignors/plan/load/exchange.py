"""Finds the exchange of partitions between two members that makes the larger of their loads smallest."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import Exchange, WorkingPlan

_NEVER = 2**63 - 1  # larger than any load
_ALL = slice(None)  # selects all partitions

_MOST_BUNDLED = 24
"""Bundles are tried if each member may give at most this many partitions.

With more, single partitions are enough choice.
"""


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
        steps: the net numbers of partitions that ``high`` may give.  1: one more than it takes; 0: as many
            as it takes.
        home: by partition, its owner before this plan.  No exchange then takes more partitions from their
            home than it brings home.  None: any exchange.

    Attributes:
        gap: the difference of the loads.
        half: records that ``high`` would have to give to make the loads equal, rounded up.
        gives, give_lags: the partitions that ``high`` may give, lightest first, and their lags.
        takes, take_lags: the partitions that ``high`` may take, likewise.
        adds_no_moves: whether there is a ``home``.  The costs below exist only then.
        give_costs, take_costs: 1 for a partition that leaves home, -1 for one that comes home, else 0.
    """

    def __init__(
        self, plan: WorkingPlan, high: int, low: int, steps: list[int], home: Owners | None = None
    ) -> None:
        problem = plan.problem
        self.high, self.low, self.steps = high, low, steps
        self.gap = int(plan.loads[high] - plan.loads[low])
        self.low_load = int(plan.loads[low])
        self._capacities = problem.capacities
        self._records = high_records, low_records = int(plan.records[high]), int(plan.records[low])
        high_part, low_part = int(problem.capacities.parts[high]), int(problem.capacities.parts[low])
        self.half = -((low_records * high_part - high_records * low_part) // (high_part + low_part))
        self.gives, self.give_lags = plan.parts[high], plan.lags[high]
        self.takes, self.take_lags = plan.parts[low], plan.lags[low]
        if not problem.equal:
            may = problem.subscribed[problem.topic_of[self.gives], low]
            self.gives, self.give_lags = self.gives[may], self.give_lags[may]
            may = problem.subscribed[problem.topic_of[self.takes], high]
            self.takes, self.take_lags = self.takes[may], self.take_lags[may]
        self.adds_no_moves = home is not None
        if home is not None:
            owner = home[self.gives]
            self.give_costs = (owner == high).astype(np.int64) - (owner == low)
            owner = home[self.takes]
            self.take_costs = (owner == low).astype(np.int64) - (owner == high)

    def excess_after(self, given: Vector) -> Vector:
        """The larger load after ``high`` gives ``given`` records (net), minus the load of ``low`` now.

        ``_NEVER`` if ``given`` is not positive.
        """
        records = np.maximum(given, 0)
        high = self._capacities.of(self.high, self._records[0] - records)
        low = self._capacities.of(self.low, self._records[1] + records)
        return np.where(given > 0, np.maximum(high, low) - self.low_load, _NEVER)

    @property
    def work(self) -> int:
        """Work of trying single partitions, in partitions examined."""
        return len(self.gives) + len(self.takes)

    @property
    def work_in_bundles(self) -> int:
        """Work of trying bundles, in pairs of bundles; 0 if they are not tried."""
        gives, takes = len(self.gives), len(self.takes)
        if max(gives, takes) > _MOST_BUNDLED:
            return 0
        return (1 + gives + gives * (gives - 1) // 2) * (1 + takes + takes * (takes - 1) // 2)


def best_single(pair: Pair) -> RatedExchange | None:
    """The best exchange of one partition for one, or for none.  Cost: a binary search for each partition."""
    if not pair.adds_no_moves:
        return _single(pair, _ALL, _ALL)
    # The two costs of an exchange must add up to at most 0: neither is 1, or one of them is -1.
    gives, takes = pair.give_costs, pair.take_costs
    candidates = [_single(pair, gives <= 0, takes <= 0)]
    if (comes_home := takes < 0).any():
        candidates.append(_single(pair, _ALL, comes_home))
    if (comes_home := gives < 0).any():
        candidates.append(_single(pair, comes_home, _ALL))
    return min(filter(None, candidates), default=None, key=lambda candidate: candidate.load)


def _single(pair: Pair, gives: Mask | slice, takes: Mask | slice) -> RatedExchange | None:
    """The best exchange among the partitions that ``gives`` and ``takes`` select."""
    give, give_lags = pair.gives[gives], pair.give_lags[gives]
    take, take_lags = pair.takes[takes], pair.take_lags[takes]
    if not len(give):
        return None
    best, exchange = pair.gap, None
    # One for none: no partition comes home in return.  So if moves may not be added, skip it for ``_ALL``,
    # which includes partitions that would leave home.
    if 1 in pair.steps and not (pair.adds_no_moves and gives is _ALL):
        excess = pair.excess_after(give_lags)
        i = int(excess.argmin())
        if excess[i] < best:
            best, exchange = int(excess[i]), Exchange(pair.high, pair.low, (int(give[i]),), ())
    if len(take) and 0 in pair.steps:
        middle = take_lags.searchsorted(give_lags - pair.half)
        for near in (np.maximum(middle - 1, 0), np.minimum(middle, len(take) - 1)):
            excess = pair.excess_after(give_lags - take_lags[near])
            i = int(excess.argmin())
            if excess[i] < best:
                best = int(excess[i])
                exchange = Exchange(pair.high, pair.low, (int(give[i]),), (int(take[near[i]]),))
    return None if exchange is None else RatedExchange(pair.low_load + best, exchange)


def best_bundles(pair: Pair) -> RatedExchange | None:
    """The best exchange of up to two partitions for up to two.

    Cost: the fourth power of the number of partitions.
    """
    if max(len(pair.gives), len(pair.takes)) > _MOST_BUNDLED:
        return None
    gives, takes = _bundles(len(pair.gives)), _bundles(len(pair.takes))
    steps = _sizes(gives)[:, None] - _sizes(takes)
    given = _sums(pair.give_lags, gives)[:, None] - _sums(pair.take_lags, takes)
    allowed = np.isin(np.arange(-2, 3), pair.steps)[steps + 2]
    if pair.adds_no_moves:
        allowed &= _sums(pair.give_costs, gives)[:, None] + _sums(pair.take_costs, takes) <= 0
    excess = np.where(allowed, pair.excess_after(given), _NEVER)
    i = int(excess.argmin())
    if excess.flat[i] >= pair.gap:
        return None
    give, take = divmod(i, excess.shape[1])
    exchange = Exchange(
        pair.high, pair.low, _partitions(pair.gives, gives, give), _partitions(pair.takes, takes, take)
    )
    return RatedExchange(pair.low_load + int(excess.flat[i]), exchange)


@lru_cache(maxsize=_MOST_BUNDLED + 1)
def _bundles(count: int) -> tuple[Vector, Vector]:
    """All bundles of none, one or two of ``count`` partitions.

    Returns:
        The indices of the first and of the second partition of each bundle; ``count`` stands for none.
    """
    first, second = np.triu_indices(count, 1)
    return (
        np.concatenate([[count], np.arange(count), first]),
        np.concatenate([np.full(1 + count, count), second]),
    )


def _sums(values: Vector, bundles: tuple[Vector, Vector]) -> Vector:
    padded = np.append(values, 0)
    total: Vector = padded[bundles[0]] + padded[bundles[1]]
    return total


def _sizes(bundles: tuple[Vector, Vector]) -> Vector:
    count = int(bundles[0][0])
    return _sums(np.ones(count, np.int64), bundles)


def _partitions(partitions: Vector, bundles: tuple[Vector, Vector], bundle: int) -> tuple[int, ...]:
    return tuple(int(partitions[i[bundle]]) for i in bundles if i[bundle] < len(partitions))
