"""Fair loads from far off; tests/property checks that they are fair in any group."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.sticky.goals import TransportProblem
from kafka_assignors.plan.sticky.max_flow import balance
from kafka_assignors.plan.sticky.residual import Residual
from kafka_assignors.plan.sticky.zero_cost_flow import FlowPhase


def balanced(supply: Vector, subscribed: Mask, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], int]:
    """Balance from a start with all units on the first subscribers; return loads and number of phases."""
    first = subscribed.argmax(axis=1)
    shares = np.zeros(subscribed.shape, np.int64)
    shares[np.arange(len(supply)), first] = supply
    nothing = np.zeros_like(shares)
    residual = Residual(TransportProblem(supply, subscribed, nothing, nothing), shares)
    phases = 0
    send = FlowPhase.send

    def counted(phase: FlowPhase) -> None:
        nonlocal phases
        phases += 1
        send(phase)

    monkeypatch.setattr(FlowPhase, "send", counted)
    balance(residual)
    assert residual.shares.sum(axis=1).tolist() == supply.tolist()
    assert residual.loads.tolist() == residual.shares.sum(axis=0).tolist()
    return residual.loads.tolist(), phases


def test_a_million_units_take_as_few_phases_as_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path carries many units at once."""
    subscribed = np.ones((2, 10), np.bool_)
    loads, few = balanced(np.array([100, 7]), subscribed, monkeypatch)
    assert sorted(loads) == [10] * 3 + [11] * 7
    loads, many = balanced(np.array([1_000_000, 7]), subscribed, monkeypatch)
    assert sorted(loads) == [100_000] * 3 + [100_001] * 7
    assert many <= few + 2


def test_parts_have_their_own_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of topics, each shared by two neighbours, the first far larger than all others."""
    members = 30
    subscribed = np.eye(members, dtype=np.bool_) | np.eye(members, k=1, dtype=np.bool_)
    supply = np.full(members, 10)
    supply[0] = 3000
    loads, phases = balanced(supply, subscribed, monkeypatch)
    assert sorted(loads) == [10] * 18 + [11] * 10 + [1500] * 2  # the other 290 are for 28 members
    assert phases < 20


def test_members_without_shared_topics_need_no_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 members with 64 different loads, and no arc between them."""
    members = 64
    supply = np.arange(members) * 100
    loads, phases = balanced(supply, np.eye(members, dtype=np.bool_), monkeypatch)
    assert loads == supply.tolist()
    assert phases == 0
