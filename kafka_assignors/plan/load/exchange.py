"""What two members can hand each other so that the larger of their loads becomes small."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.standing import Exchange, Indices, Standing
from kafka_assignors.plan.sticky.goals import Mask, Vector

__all__ = ["Found", "Pair", "best_bundles", "best_single"]

_NEVER = 2**63 - 1

_WIDEST = 24
"""Of a member that has more partitions than this they are not tried in twos: there are enough ones."""


class Found(NamedTuple):
    """An exchange and the larger of the two loads after it, records."""

    load: int
    exchange: Exchange


class Pair:
    """A member with much and one with less, and what each may give to the other.

    Args:
        standing: who has what.
        high, low: the two.
        steps: how many partitions more than it gets the first may give.
        home: by partition, whose it was; with it only exchanges are wanted that bring home as much as they
            take away, or more.  None: any.
    """

    def __init__(
        self, standing: Standing, high: int, low: int, steps: list[int], home: Owners | None = None
    ) -> None:
        field = standing.field
        self.high, self.low, self.steps = high, low, steps
        self.floor = int(standing.loads[low])
        self.gap = int(standing.loads[high]) - self.floor
        self.gives, self.give_lags = standing.parts[high], standing.lags[high]
        self.takes, self.take_lags = standing.parts[low], standing.lags[low]
        if not field.equal:
            may = field.subscribed[field.topic_of[self.gives], low]
            self.gives, self.give_lags = self.gives[may], self.give_lags[may]
            may = field.subscribed[field.topic_of[self.takes], high]
            self.takes, self.take_lags = self.takes[may], self.take_lags[may]
        self.calm = home is not None
        if home is not None:
            # What an exchange takes from its home counts 1, what it brings home -1.
            owner = home[self.gives]
            self.give_costs = (owner == high).astype(np.int64) - (owner == low)
            owner = home[self.takes]
            self.take_costs = (owner == low).astype(np.int64) - (owner == high)

    @property
    def work(self) -> int:
        """What looking at single partitions costs."""
        return len(self.gives) + len(self.takes)

    @property
    def work_in_bundles(self) -> int:
        """What looking at bundles costs."""
        gives, takes = len(self.gives), len(self.takes)
        if max(gives, takes) > _WIDEST:
            return 0
        return (1 + gives + gives * (gives - 1) // 2) * (1 + takes + takes * (takes - 1) // 2)


def best_single(pair: Pair) -> Found | None:
    """The best of one partition for one, and of one for nothing.  Cost: a binary search for each."""
    if not pair.calm:
        return _single(pair, None, None)
    gives, takes = pair.give_costs, pair.take_costs
    ways = [_single(pair, gives <= 0, takes <= 0)]
    if (home := takes < 0).any():
        ways.append(_single(pair, None, home))
    if (home := gives < 0).any():
        ways.append(_single(pair, home, None))
    return min((way for way in ways if way), default=None, key=lambda found: found.load)


def _single(pair: Pair, gives: Mask | None, takes: Mask | None) -> Found | None:
    give, give_lags = (
        (pair.gives, pair.give_lags) if gives is None else (pair.gives[gives], pair.give_lags[gives])
    )
    take, take_lags = (
        (pair.takes, pair.take_lags) if takes is None else (pair.takes[takes], pair.take_lags[takes])
    )
    if not len(give):
        return None
    best, exchange = pair.gap, None
    # One for nothing brings nothing home, so what is given must not be at home where that counts.
    if 1 in pair.steps and not (pair.calm and gives is None):
        after = _after(pair.gap, give_lags)
        at = int(after.argmin())
        if after[at] < best:
            best, exchange = int(after[at]), Exchange(pair.high, pair.low, (int(give[at]),), ())
    if len(take) and 0 in pair.steps:
        middle = take_lags.searchsorted(give_lags - (pair.gap + 1) // 2)
        for near in (np.maximum(middle - 1, 0), np.minimum(middle, len(take) - 1)):
            after = _after(pair.gap, give_lags - take_lags[near])
            at = int(after.argmin())
            if after[at] < best:
                best = int(after[at])
                exchange = Exchange(pair.high, pair.low, (int(give[at]),), (int(take[near[at]]),))
    return None if exchange is None else Found(pair.floor + best, exchange)


def _after(gap: int, less: Vector) -> Vector:
    """The larger load, above what the lower one was, when the higher one gives so much."""
    after: Vector = np.where(less > 0, np.maximum(gap - np.maximum(less, 0), less), _NEVER)
    return after


def best_bundles(pair: Pair) -> Found | None:
    """The best of up to two partitions for up to two.  Cost: the fourth power of how many there are."""
    if max(len(pair.gives), len(pair.takes)) > _WIDEST:
        return None
    gives, takes = _bundles(len(pair.gives)), _bundles(len(pair.takes))
    step = _sizes(gives)[:, None] - _sizes(takes)
    less = _sums(pair.give_lags, gives)[:, None] - _sums(pair.take_lags, takes)
    allowed = np.isin(np.arange(-2, 3), pair.steps)[step + 2]
    if pair.calm:
        allowed &= _sums(pair.give_costs, gives)[:, None] + _sums(pair.take_costs, takes) <= 0
    after = np.where(allowed, _after(pair.gap, less), _NEVER)
    at = int(after.argmin())
    if after.flat[at] >= pair.gap:
        return None
    give, take = divmod(at, after.shape[1])
    exchange = Exchange(pair.high, pair.low, _named(pair.gives, gives, give), _named(pair.takes, takes, take))
    return Found(pair.floor + int(after.flat[at]), exchange)


@lru_cache(maxsize=_WIDEST + 1)
def _bundles(count: int) -> tuple[Indices, Indices]:
    """Bundles of none, one or two of so many, as pairs of places; the place after the last is nothing."""
    one, two = np.triu_indices(count, 1)
    return (
        np.concatenate([[count], np.arange(count), one]),
        np.concatenate([np.full(1 + count, count), two]),
    )


def _sums(values: Vector, at: tuple[Indices, Indices]) -> Vector:
    padded = np.append(values, 0)
    total: Vector = padded[at[0]] + padded[at[1]]
    return total


def _sizes(at: tuple[Indices, Indices]) -> Vector:
    count = int(at[0][0])
    return _sums(np.ones(count, np.int64), at)


def _named(partitions: Indices, at: tuple[Indices, Indices], bundle: int) -> tuple[int, ...]:
    return tuple(int(partitions[i[bundle]]) for i in at if i[bundle] < len(partitions))
