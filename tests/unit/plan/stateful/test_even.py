"""Shares of a plan, compared with HiGHS and with brute force: balanced with the fewest moves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from kafka_assignors.plan.arrays import Mask, Matrix, Vector
from kafka_assignors.plan.stateful import even as even_module
from kafka_assignors.plan.stateful.even import even_loads, even_shares
from tests.support.plan.stateful_oracle import LeastLoads, least_loads


def fewest_moves(supply: list[int], owned: npt.NDArray[np.int64]) -> int:
    """Solve for a whole number in each cell, and its excess over ``owned``."""
    rows, members = owned.shape
    cells = rows * members
    floor = np.repeat(np.array(supply) // members, members)
    constraints: list[tuple[npt.NDArray[np.float64], float, float]] = []
    for row in range(rows):
        line = np.zeros(2 * cells)
        line[row * members : (row + 1) * members] = 1
        constraints.append((line, supply[row], supply[row]))
    total = sum(supply)
    for member in range(members):
        line = np.zeros(2 * cells)
        line[member:cells:members] = 1
        constraints.append((line, total // members, -(-total // members)))
    for cell in range(cells):
        line = np.zeros(2 * cells)
        line[cell], line[cells + cell] = 1, -1
        constraints.append((line, -np.inf, owned.reshape(-1)[cell]))
    result = milp(
        np.concatenate([np.zeros(cells), np.ones(cells)]),
        integrality=np.ones(2 * cells),
        bounds=Bounds(
            np.concatenate([floor, np.zeros(cells)]), np.concatenate([floor + 1, np.full(cells, 99)])
        ),
        constraints=LinearConstraint(
            np.array([c[0] for c in constraints]), [c[1] for c in constraints], [c[2] for c in constraints]
        ),
    )
    return round(float(result.fun))


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_balanced_with_the_fewest_moves(seed: int) -> None:
    rng = Random(seed)
    rows, members = rng.randint(1, 4), rng.randint(1, 5)
    supply = [rng.randint(0, 9) for _ in range(rows)]
    owned = np.zeros((rows, members), np.int64)
    for row, units in enumerate(supply):
        for _ in range(rng.randint(0, units)):
            owned[row, rng.randrange(members)] += 1
    shares = even_shares(np.array(supply), owned, np.zeros(members, np.int64))
    assert shares.sum(axis=1).tolist() == supply
    assert np.ptp(shares, axis=1).max() <= 1
    assert np.ptp(shares.sum(axis=0)) <= 1
    assert np.maximum(shares - owned, 0).sum() == fewest_moves(supply, owned)


def test_base_counts_for_balance() -> None:
    shares = even_shares(np.array([3]), np.zeros((1, 3), np.int64), np.array([1, 0, 0]))
    assert shares.tolist() == [[1, 1, 1]]
    shares = even_shares(np.array([2]), np.zeros((1, 3), np.int64), np.array([1, 0, 0]))
    assert shares.tolist() == [[0, 1, 1]]


def test_impossible_balance_ends() -> None:
    """A row without a remainder has nothing to send."""
    shares = even_shares(np.array([5]), np.array([[1, 1, 2, 0, 1]]), np.array([3, 2, 1, 1, 2]))
    assert shares.tolist() == [[1, 1, 1, 1, 1]]


@pytest.mark.parametrize("even", [even_shares, even_loads])
def test_units_of_a_row_that_move_in_one_step_share_a_search(
    even: Callable[[Vector, Matrix, Vector], Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the members join, and half of the units move to them."""
    rows, members, units = 20, 100, 50
    owned = np.zeros((rows, members), np.int64)
    owned[:, : members // 2] = 1
    searches = 0

    def counted(sources: Mask, sinks: Mask, give: Matrix, get: Matrix) -> even_module._Path:
        nonlocal searches
        searches += 1
        return cheapest(sources, sinks, give, get)

    cheapest = even_module._cheapest
    monkeypatch.setattr(even_module, "_cheapest", counted)
    shares = even(np.full(rows, units), owned, np.zeros(members, np.int64))
    assert shares.sum(axis=0).tolist() == [10] * members
    assert np.maximum(shares - owned, 0).sum() == 500
    assert searches <= rows + 2


@pytest.mark.parametrize("batch", [range(i, i + 50) for i in range(0, 300, 50)], ids=str)
def test_loads_fill_up_the_base_with_the_fewest_moves(batch: range) -> None:
    """Total first, then each subtopology, then moves; a result as input is unchanged."""
    for seed in batch:
        rng = Random(seed)
        rows, members = rng.randint(0, 3), rng.randint(1, 4)
        supply = [rng.randint(0, 5) for _ in range(rows)]
        owned = np.zeros((rows, members), np.int64)
        for row, units in enumerate(supply):
            for _ in range(rng.randint(0, units)):
                owned[row, rng.randrange(members)] += 1
        base = np.array([rng.randint(0, 7) for _ in range(members)])
        shares = even_loads(np.array(supply, np.int64), owned, base)
        assert shares.sum(axis=1).tolist() == supply
        assert shares.min(initial=0) >= 0
        loads = base + shares.sum(axis=0)
        largest, least = least_loads(supply, owned.tolist(), base.tolist())
        moves = int(np.maximum(shares - owned, 0).sum())
        assert LeastLoads(int((loads**2).sum()), int((shares**2).sum()), moves) == least, seed
        assert loads[shares.any(axis=0)].max(initial=0) == largest, seed
        assert np.array_equal(even_loads(np.array(supply, np.int64), shares, base), shares), seed
