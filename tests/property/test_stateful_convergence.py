"""Random histories: members join and leave, copies catch up or fall behind; then it is quiet, and settles."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from kafka_assignors.plan.stateful import StatefulOptions, StatefulPlan, plan_stateful
from tests.support.searching import batches
from tests.support.stateful_group import SimulatedGroup, any_topology
from tests.support.stateful_laws import Facts, check, shuffled

HISTORIES, EVENTS, BATCH = 400, 6, 25
RISING = 150
"""Histories in which copies that are read also fall far behind now and then."""


class History:
    """One seeded history."""

    def __init__(self, seed: int, *, rising: bool = False) -> None:
        self.rising = rising
        self.rng = Random(seed)
        options = StatefulOptions(
            num_standby_replicas=self.rng.choice((0, 1, 1, 2)),
            max_warmup_replicas=self.rng.choice((1, 2, 3)),
            balance_factor=self.rng.choice((1, 1, 1, 2)),
        )
        topology = any_topology(self.rng, most=12)
        self.sim = SimulatedGroup(topology, options, keeps=self.rng.random() < 0.3)
        self.shared = self.rng.random() < 0.3
        self.racks = self.rng.choice(((None,), (None,), ("a", "b"), ("a", "b", "c")))
        self.joined = 0
        for _ in range(self.rng.randint(1, 6)):
            self.join()

    def join(self) -> None:
        """One more, perhaps in a process that is there."""
        self.joined += 1
        process = f"p{self.rng.randint(0, 5)}" if self.shared else None
        # A process is in one rack.
        rack = self.racks[len(process or "") and int(str(process)[1:]) % len(self.racks)]
        if not self.shared:
            rack = self.rng.choice(self.racks)
        self.sim.join(f"m{self.joined:02}", process, rack)

    def event(self) -> None:
        """Somebody joins or leaves, or not; copies read on as they can."""
        what = self.rng.random()
        if what < 0.35 or len(self.sim.members) == 1:
            self.join()
        elif what < 0.7:
            self.sim.leave(self.rng.choice(sorted(self.sim.members)))
        further = (30_000,) if self.rising else ()
        self.sim.catch_up(
            lambda lag: self.rng.choice((lag, lag // 2, lag // 20, 0, *(lag + more for more in further)))
        )

    def plan(self) -> StatefulPlan:
        """A plan that keeps the laws."""
        group, options = self.sim.group(), self.sim.options
        plan = plan_stateful(group, options)
        check(group, options, plan)
        return plan


def copies_to_catch_up(sim: SimulatedGroup, plan: StatefulPlan) -> int:
    """Of the target, those that are behind."""
    facts = Facts(sim.group(), sim.options)
    return sum(
        facts.rank(task, facts.process[m]) > 0
        for m in facts.process
        for task in (*plan.target_active[m], *plan.target_standby[m])
    )


@pytest.mark.parametrize("batch", batches(HISTORIES, BATCH))
def test_what_is_disturbed_settles(batch: range) -> None:
    """In no more rounds than the warm-ups take and one, and no stateful task is handed on twice.

    On the way every plan keeps the laws: no task is without a member, none with one that is behind while
    another is caught up.
    """
    for seed in batch:
        settle(History(seed), seed)


@pytest.mark.parametrize("batch", batches(RISING, BATCH))
def test_so_does_what_fell_behind_meanwhile(batch: range) -> None:
    """Only a task without a changelog, with no state to copy, may be handed on twice then (seed 78's is)."""
    for seed in batch:
        settle(History(seed, rising=True), seed)


def settle(history: History, seed: int) -> None:
    """Disturb it some times, and let it settle each time."""
    sim = history.sim
    stays = {s.id for s in sim.subtopologies if s.stateful and (s.logged or not history.rising)}
    for _ in range(EVENTS):
        # In the middle of things: the plan before may still be waiting for its warm-ups.
        for _ in range(history.rng.randint(0, 3)):
            sim.do(history.plan())
            history.event()
        sim.handed.clear()
        plan = history.plan()
        needed = copies_to_catch_up(sim, plan)
        rounds = 1
        while True:
            sim.do(plan)
            sim.catch_up()
            if not plan.probing:
                break
            plan = history.plan()
            rounds += 1
            assert rounds <= -(-needed // sim.options.max_warmup_replicas) + 1, seed
        handed = (n for task, n in sim.handed.items() if task.subtopology in stays)
        assert max(handed, default=0) <= 1, seed

        again = history.plan()
        assert again == replace(plan, warmup=again.warmup), seed
        assert not again.probing
        assert not any(again.warmup.values())
        assert plan_stateful(shuffled(sim.group(), seed), sim.options) == again
        history.event()


@pytest.mark.parametrize("seed", range(20))
def test_a_warm_up_once_begun_goes_on(seed: int) -> None:
    """While nothing but lags change, no copy is dropped before its task has moved, and the target stays."""
    history = History(seed)
    sim = history.sim
    sim.settle()
    history.join()
    history.join()
    plan = history.plan()
    while plan.probing:
        sim.do(plan)
        sim.catch_up(lambda lag: history.rng.choice((lag - lag // 10, lag // 2, 0)))
        following = history.plan()
        facts = Facts(sim.group(), sim.options)
        for member, tasks in plan.warmup.items():
            for task in tasks:
                if facts.rank(task, facts.process[member]) > 0:
                    wanted = following.warmup[member], following.standby[member], following.active[member]
                    assert any(task in mine for mine in wanted), (task, member)
        plan = following
