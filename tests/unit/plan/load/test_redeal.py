"""Dealing by lag, compared with dealing one by one."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kafka_assignors.plan import Group
from kafka_assignors.plan.arrays import Mask
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.redeal import redeal
from kafka_assignors.plan.load.working_plan import LoadProblem
from kafka_assignors.plan.model import NO_MEMBER
from tests.support.plan.builders import member
from tests.unit.plan.load.seeded import UNEQUAL, any_owners, group_of, weighted


def one_by_one(group: Group, owners: Owners, free: Mask, *, keep_counts: bool) -> list[int]:
    """The heaviest first, each to the subscriber with room in the lot that has the least load with it."""
    problem = LoadProblem(group)
    dealt = [NO_MEMBER if away else m for away, m in zip(free.tolist(), owners.tolist(), strict=True)]
    records = [0] * problem.subscribed.shape[1]
    room: dict[tuple[bytes, int], int] = {}
    lots = [problem.subscribed[topic].tobytes() for topic in problem.topic_of]
    for partition, m in enumerate(owners.tolist()):
        if m == NO_MEMBER:
            continue
        if free[partition]:
            room[lots[partition], m] = room.get((lots[partition], m), 0) + 1
        else:
            records[m] += int(problem.lag[partition])
    for partition in sorted(range(len(owners)), key=lambda p: -int(problem.lag[p])):
        if not free[partition] or owners[partition] == NO_MEMBER:
            continue
        lot = lots[partition]
        takers = np.flatnonzero(problem.subscribed[problem.topic_of[partition]]).tolist()
        if keep_counts:
            takers = [m for m in takers if room.get((lot, m), 0) > 0]
        lag = int(problem.lag[partition])
        to = min(takers, key=lambda m: (weighted(group, m, records[m] + lag), m))
        room[lot, to] = room.get((lot, to), 0) - 1
        records[to] += lag
        dealt[partition] = to
    return dealt


@pytest.mark.parametrize("keep_counts", [True, False])
@pytest.mark.parametrize("capacities", [(1.0,), UNEQUAL])
def test_result_equals_dealing_one_by_one(keep_counts: bool, capacities: tuple[float, ...]) -> None:
    """With all partitions free, or some of them."""
    for seed in range(120):
        rng = Random(seed)
        group = group_of(rng, density=rng.choice((1, 0.6)), lag=rng.choice((3, 100)), capacities=capacities)
        problem, owners = LoadProblem(group), any_owners(rng, group)
        free = np.array([rng.random() < rng.choice((1, 0.5)) for _ in owners], np.bool_)
        before = owners.copy()
        dealt = redeal(problem, owners, free, keep_counts=keep_counts)
        assert dealt.tolist() == one_by_one(group, owners, free, keep_counts=keep_counts)
        assert owners.tolist() == before.tolist()
        if keep_counts:
            assert problem.counts(dealt).tolist() == problem.counts(owners).tolist()


def test_too_much_work_leaves_the_plan_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_assignors.plan.load.redeal._MOST_WORK", 1)
    group = Group((member("a", ["t0", "t1"]), member("b")), {"t0": 2, "t1": 1}, lags={"t0": [9, 8]})
    owners = np.array([0, 0, 0], np.int32)
    assert redeal(LoadProblem(group), owners, owners == 0, keep_counts=False).tolist() == [0, 0, 0]
