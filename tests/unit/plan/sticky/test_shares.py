"""The optimum with large numbers."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.sticky.goals import TransportProblem
from kafka_assignors.plan.sticky.shares import best_shares as best


def best_shares(supply: Vector, subscribed: Mask, owned: Matrix) -> Matrix:
    """Solve a problem without racks and without floors."""
    return best(TransportProblem(supply, subscribed, owned, np.zeros_like(owned)))


@pytest.mark.parametrize("members", [10, 1500])
def test_a_huge_topic_does_not_distort_the_others(members: int) -> None:
    """The only subscriber of a million partitions gets nothing of the other topic."""
    supply = np.array([1_000_000, 20])
    subscribed = np.ones((2, members + 1), np.bool_)
    subscribed[0, 1:] = False
    owned = np.zeros((2, members + 1), np.int64)
    owned[1, 1] = 20
    shares = best_shares(supply, subscribed, owned)
    assert shares[1, 0] == 0
    assert shares[1, 1:].max() == (2 if members == 10 else 1)


@pytest.mark.parametrize("seed", range(20))
def test_a_topic_beyond_32_bits_does_not_change_the_others(seed: int) -> None:
    """Its only subscriber also subscribes to another topic, and gets none of that."""
    rng = np.random.default_rng(seed)
    supply = rng.integers(1, 9, 4)
    subscribed = rng.random((4, 5)) < 0.6
    subscribed[:, 0] |= ~subscribed.any(axis=1)
    owned = np.where(subscribed, rng.multinomial(1, np.full(5, 0.2), 4), 0)
    alone = best_shares(supply, subscribed, owned)
    wider = np.pad(subscribed, ((0, 1), (0, 1)))
    wider[[0, 4], 5] = True
    beside = best_shares(np.append(supply, 10**15), wider, np.pad(owned, ((0, 1), (0, 1))))
    assert beside[4].tolist() == [0, 0, 0, 0, 0, 10**15]
    assert scores(beside[:4, :5], owned) == scores(alone, owned)


def scores(shares: Matrix, owned: Matrix) -> tuple[int, int, int]:
    """Unfairness, moves, unevenness."""
    loads = shares.sum(axis=0)
    moved = np.maximum(shares - owned, 0)
    return int((loads**2).sum()), int(moved.sum()), int((shares**2).sum())
