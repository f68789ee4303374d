"""Random histories: members join and leave, copies catch up or fall behind, then the group settles."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from kafka_assignors.plan.stateful import StatefulGroup, StatefulPlan, TaskPlanOptions, plan_stateful
from tests.support.plan.stateful_group import END, SimulatedGroup, any_topology
from tests.support.plan.stateful_laws import Facts, check, shuffled
from tests.support.searching import batches

HISTORIES, EVENTS, BATCH = 400, 6, 25
RISING = 150
"""Histories in which copies also fall far behind now and then."""


class History:
    """One seeded history."""

    def __init__(self, seed: int, *, rising: bool = False) -> None:
        self.rising = rising
        self.rng = Random(seed)
        options = TaskPlanOptions(
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
        """Add a member, perhaps in an existing process."""
        self.joined += 1
        process = f"p{self.rng.randint(0, 5)}" if self.shared else None
        # All members of a process are in one rack.
        rack = self.racks[len(process or "") and int(str(process)[1:]) % len(self.racks)]
        if not self.shared:
            rack = self.rng.choice(self.racks)
        self.sim.join(f"m{self.joined:02}", process, rack)

    def event(self) -> None:
        """A member joins or leaves, or not; copies catch up partly."""
        chance = self.rng.random()
        if chance < 0.35 or len(self.sim.members) == 1:
            self.join()
        elif chance < 0.7:
            self.sim.leave(self.rng.choice(sorted(self.sim.members)))
        fall_behind = (30_000,) if self.rising else ()
        self.sim.catch_up(
            lambda lag: self.rng.choice((lag, lag // 2, lag // 20, 0, *(lag + more for more in fall_behind)))
        )

    def plan(self) -> StatefulPlan:
        """Plan, and check the laws."""
        group, options = self.sim.group(), self.sim.options
        plan = plan_stateful(group, options)
        check(group, options, plan)
        return plan


def copies_to_catch_up(sim: SimulatedGroup, plan: StatefulPlan) -> int:
    """Number of the target's copies that are behind."""
    facts = Facts(sim.group(), sim.options)
    return sum(
        facts.rank(task, facts.process[m]) > 0
        for m in facts.process
        for task in (*plan.target_active[m], *plan.target_standby[m])
    )


@pytest.mark.parametrize("batch", batches(HISTORIES, BATCH))
def test_disturbed_group_settles(batch: range) -> None:
    """The warm-ups bound the number of rounds, and no stateful task moves twice.

    Every plan on the way keeps the laws: each task has a member, and not one that is behind while another
    is caught up.
    """
    for seed in batch:
        settle(History(seed), seed)


@pytest.mark.parametrize("batch", batches(RISING, BATCH))
def test_group_with_copies_that_fall_behind_settles(batch: range) -> None:
    """Only a task without a changelog, so without state to copy, may move twice then (in seed 78)."""
    for seed in batch:
        settle(History(seed, rising=True), seed)


def settle(history: History, seed: int) -> None:
    """Disturb the group several times, and let it settle each time."""
    sim = history.sim
    stays = {s.id for s in sim.subtopologies if s.stateful and (s.logged or not history.rising)}
    for _ in range(EVENTS):
        # The plan before may still wait for its warm-ups.
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


@pytest.mark.parametrize("batch", batches(HISTORIES, BATCH))
@pytest.mark.parametrize("reports", [False, True])
def test_second_round_takes_no_task_from_its_owner(batch: range, *, reports: bool) -> None:
    """Tasks that were revoked have no owner then.  Any member may run any task at once here."""
    for seed in batch:
        rng = Random(seed)
        options = TaskPlanOptions(END, num_standby_replicas=rng.choice((0, 0, 1, 2)))
        topology = any_topology(rng, most=12)
        sim = SimulatedGroup(topology, options, keeps=rng.random() < 0.5, knows_ends=True)
        sim.join("m0")
        for number in range(1, 8):
            if rng.random() < 0.7 or len(sim.members) == 1:
                sim.join(f"m{number}")
            else:
                sim.leave(rng.choice(sorted(sim.members)))
            group = sim.group()
            plan = plan_stateful(group, options)
            again = plan_stateful(revoked(group, plan, reports=reports), options)
            for member in group.members:
                stays = set(member.active) & set(plan.active[member.member_id])
                assert stays <= set(again.active[member.member_id]), seed
            sim.do(plan)


def revoked(group: StatefulGroup, plan: StatefulPlan, *, reports: bool) -> StatefulGroup:
    """Return the group as it joins the second cooperative round.

    Args:
        group: as it joined the first round.
        plan: of the first round.
        reports: whether members already report the copies that this plan gives them.
    """
    owned = {task for member in group.members for task in member.active}
    members = []
    for member in group.members:
        planned = set(plan.active[member.member_id])
        active = {task for task in planned if task in member.active or task not in owned}
        copies = {*planned, *plan.standby[member.member_id], *plan.warmup[member.member_id]} - active
        standby = copies if reports else member.standby
        members.append(replace(member, active=active, standby=standby, generation=member.generation + 1))
    return replace(group, members=tuple(members))


@pytest.mark.parametrize("seed", range(20))
def test_started_warm_up_continues(seed: int) -> None:
    """While only lags change, no copy is dropped before its task has moved."""
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
                    assert any(task in tasks_of for tasks_of in wanted), (task, member)
        plan = following
