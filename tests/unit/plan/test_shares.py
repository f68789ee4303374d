"""The optimum where numbers are large."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.plan.shares import best_shares


@pytest.mark.parametrize("members", [10, 1500])
def test_a_huge_topic_does_not_drown_the_rest(members: int) -> None:
    """One member has a million partitions only it subscribes to; of the other topic it gets nothing."""
    supply = np.array([1_000_000, 20])
    subscribed = np.ones((2, members + 1), np.bool_)
    subscribed[0, 1:] = False
    owned = np.zeros((2, members + 1), np.int64)
    owned[1, 1] = 20
    shares = best_shares(supply, subscribed, owned)
    assert shares[1, 0] == 0
    assert shares[1, 1:].max() == (2 if members == 10 else 1)


def test_beyond_64_bits_it_is_exact_all_the_same() -> None:
    """The place values no longer fit, and Python's integers take over."""
    supply = np.array([10**13, 3, 3])
    subscribed = np.array([[True, False, False], [True, True, True], [False, True, True]])
    owned = np.array([[0, 0, 0], [0, 3, 0], [0, 0, 0]])
    shares = best_shares(supply, subscribed, owned)
    assert shares.tolist() == [[10**13, 0, 0], [0, 3, 0], [0, 0, 3]]
