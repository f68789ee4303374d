"""Every settled goal ends with prices that prove it, checked here arc by arc."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from kafka_assignors.plan.arrays import Matrix, Vector
from kafka_assignors.plan.sticky import min_cost_flow
from kafka_assignors.plan.sticky.first_guess import first_shares
from kafka_assignors.plan.sticky.goals import Away, Goal, Load, Moved, Potentials, Spread, TransportProblem
from kafka_assignors.plan.sticky.min_cost_flow import settle
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import FlowPhase

Cost = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]


class Proven(Residual):
    """Records the proofs."""

    def __init__(self, problem: TransportProblem, shares: Matrix) -> None:
        super().__init__(problem, shares)
        self.proofs: list[Potentials] = []

    def record_settled(self, goal: Goal, proof: Potentials) -> None:
        super().record_settled(goal, proof)
        self.proofs.append(proof)


def free(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A goal without cost here."""
    return numbers * 0


def reduced(shares: Matrix, of_cells: Cost, of_loads: Cost, prices: Potentials) -> Vector:
    """The reduced costs of all possible arcs, in one row."""
    loads = shares.sum(axis=0)
    across = prices.topic[:, None] - prices.member
    up = prices.member - prices.hub
    parts = (
        of_cells(shares + 1) - of_cells(shares) + across,
        of_cells(shares - 1) - of_cells(shares) - across,
        of_loads(loads + 1) - of_loads(loads) + up,
        of_loads(loads - 1) - of_loads(loads) - up,
    )
    return np.concatenate([part.ravel() for part in parts])


def random_problem(seed: int) -> TransportProblem:
    """Random topics, members and history; sometimes with floors or racks."""
    rng = np.random.default_rng(seed)
    rows, members = rng.integers(1, 9), rng.integers(1, 12)
    supply = rng.integers(1, 12, rows)
    subscribed = rng.random((rows, members)) < rng.choice([0.3, 0.6, 1.0])
    subscribed[np.arange(rows), rng.integers(0, members, rows)] = True
    claims = np.array(
        [rng.multinomial(n, row / row.sum()) for n, row in zip(supply, subscribed, strict=True)]
    )
    owned = np.minimum(claims, rng.integers(0, 9, claims.shape))
    return TransportProblem(
        supply=supply,
        subscribed=subscribed,
        owned=owned,
        floor=owned if rng.random() < 0.3 else owned * 0,
        away=rng.integers(0, 2, owned.shape) if rng.random() < 0.5 else None,
    )


@pytest.mark.parametrize("seed", range(150))
def test_prices_prove_every_goal(seed: int) -> None:
    """In each goal no arc is negative, among the arcs that cost nothing in the goals before."""
    problem = random_problem(seed)
    away = problem.away
    goals: list[tuple[Goal, Cost, Cost]] = [
        (Load(), free, lambda loads: loads * (loads + 1) // 2),
        (Moved(problem.owned), lambda shares: np.maximum(shares - problem.owned, 0), free),
        (Spread(), lambda shares: shares * shares, free),
    ]
    if away is not None:
        goals.insert(1, (Away(away), lambda shares: shares * away, free))

    residual = Proven(problem, first_shares(problem))
    for goal, _, _ in goals:
        settle(residual, goal)

    shares = residual.shares
    loads = shares.sum(axis=0)
    assert shares.sum(axis=1).tolist() == problem.supply.tolist()
    assert (shares >= problem.floor).all()
    assert not shares[~problem.subscribed].any()
    assert residual.loads.tolist() == loads.tolist()
    exists = (problem.subscribed, shares > problem.floor, np.ones(len(loads), np.bool_), loads > 0)
    is_open = np.concatenate([part.ravel() for part in exists])
    for (goal, of_cells, of_loads), prices in zip(goals, residual.proofs, strict=True):
        costs = reduced(shares, of_cells, of_loads, prices)
        assert (costs[is_open] >= 0).all(), type(goal).__name__
        is_open &= costs == 0


def test_spread_pushes_large_multiples_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hundreds of units, steps halve down to single units."""
    steps: list[int] = []

    class RecordedPhase(FlowPhase):
        def measure(self) -> bool:
            steps.append(self._net.step)
            return super().measure()

    supply = np.array([100 * 2**topic for topic in range(6)])
    rng = np.random.default_rng(1)
    subscribed = rng.random((6, 5)) < 0.5
    subscribed[5] = True
    subscribed[np.arange(6), rng.integers(0, 5, 6)] = True
    owned = np.zeros((6, 5), np.int64)
    owned[np.arange(6), subscribed.argmax(axis=1)] = supply
    problem = TransportProblem(supply=supply, subscribed=subscribed, owned=owned, floor=owned * 0, away=None)
    residual = Residual(problem, first_shares(problem))
    settle(residual, Load())
    monkeypatch.setattr(min_cost_flow, "FlowPhase", RecordedPhase)
    settle(residual, Spread())
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 1
    assert steps[-1] == 1
