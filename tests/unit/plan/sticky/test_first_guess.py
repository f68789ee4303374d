"""The first matrix is close and fast; tests/property checks that the final one is optimal."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.plan.arrays import Mask, Matrix
from kafka_assignors.plan.sticky import first_guess as start
from kafka_assignors.plan.sticky.first_guess import first_shares
from kafka_assignors.plan.sticky.goals import TransportProblem


def problem(supply: list[int], subscribed: Mask, owned: Matrix | None = None) -> TransportProblem:
    nothing = np.zeros(subscribed.shape, np.int64)
    return TransportProblem(np.array(supply), subscribed, nothing if owned is None else owned, nothing)


@pytest.mark.parametrize("seed", range(50))
def test_dealing_one_by_one_equals_dealing_at_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is for few units, the other for many; a plan must not depend on the choice."""
    rng = np.random.default_rng(seed)
    subscribed = rng.random((6, 7)) < 0.6
    subscribed[:, 0] = True
    supply = rng.integers(1, 30, 6).tolist()
    monkeypatch.setattr(start, "_FEW", 10**9)
    few = first_shares(problem(supply, subscribed))
    monkeypatch.setattr(start, "_FEW", 0)
    assert first_shares(problem(supply, subscribed)).tolist() == few.tolist()


def test_an_owner_of_everything_gives_up_its_excess_at_once() -> None:
    """Not unit by unit, and about as much of each topic."""
    subscribed = np.ones((4, 10), np.bool_)
    subscribed[0, 9] = False
    owned = np.zeros((4, 10), np.int64)
    owned[:, 0] = 100_000
    shares = first_shares(problem([100_000] * 4, subscribed, owned))
    assert shares.sum(axis=1).tolist() == [100_000] * 4
    loads = shares.sum(axis=0)
    assert loads.max() - loads.min() <= 1
    assert shares[:, 0].max() < 12_000


def test_a_new_member_takes_a_little_from_every_member() -> None:
    subscribed = np.ones((10, 11), np.bool_)
    subscribed[9, 10] = False
    owned = np.pad(np.ones((10, 10), np.int64), ((0, 0), (0, 1)))
    shares = first_shares(problem([10] * 10, subscribed, owned))
    assert shares[:, 10].sum() == 9
    assert (shares[:, :10].sum(axis=0) >= 9).all()
    assert shares[:, 10].max() == 1


def test_racks_come_first_up_to_what_is_fair() -> None:
    """Two members are near each topic; the owner far from its topic gives it up."""
    away = np.array([[0, 0, 1, 1], [1, 1, 0, 0]])
    owned = np.array([[0, 0, 4, 0], [0, 0, 0, 0]])
    subscribed = np.ones((2, 4), np.bool_)
    shares = first_shares(
        TransportProblem(np.array([4, 4]), subscribed, owned, np.zeros((2, 4), np.int64), away)
    )
    assert shares.tolist() == [[2, 2, 0, 0], [0, 0, 2, 2]]
