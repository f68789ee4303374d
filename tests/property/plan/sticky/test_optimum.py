"""Thousands of realistic groups from fixed seeds: no plan is better than ours."""

from __future__ import annotations

from random import Random

import pytest

from kafka_assignors.plan import (
    Assignment,
    Group,
    Member,
    TopicPartition,
    plan_fair,
    plan_fairest_sticky,
    plan_sticky,
    resolve,
)
from tests.support.plan import oracle
from tests.support.plan.builders import next_generation, shuffled
from tests.support.searching import batches

GROUPS = 2000
BATCH = 100  # groups a test
SMALL = 10  # one in so many is small enough for the network simplex
TWICE = 4  # one in so many is planned again, in another order, and from its own plan

RACKS = "abcd"
Owned = dict[str, list[int]]


def any_group(rng: Random, *, small: bool = False) -> Group:
    """Unequal subscriptions of several densities, skewed and false claims, racks in half of the cases."""
    topics = {f"t{i}": partitions(rng, small=small) for i in range(rng.randint(1, 5 if small else 12))}
    density = rng.choice((0.15, 0.3, 0.5, 0.8, 1.0))
    racks = {t: replica_racks(rng, count) for t, count in topics.items()} if rng.random() < 0.5 else {}
    names = [*topics, "gone"]
    members = [
        Member(
            f"m{i:02}",
            frozenset(t for t in names if rng.random() < density),
            instance_id=rng.choice((None, None, f"s{99 - i}")),
            rack=rng.choice((*RACKS[: rng.randint(1, 4)], None)) if racks or rng.random() < 0.2 else None,
        )
        for i in range(rng.randint(1, 6 if small else 14))
    ]
    history = rng.choice((no_history, skewed, skewed, planned_before, planned_before, contradictory))
    return history(rng, Group(tuple(members), topics, racks))


def partitions(rng: Random, *, small: bool) -> int:
    """Partitions of one topic: mostly a few, sometimes very many, or none."""
    if small:
        return rng.randint(0, 9)
    return rng.choice((rng.randint(0, 8), rng.randint(1, 30), rng.randint(1, 30), rng.randint(30, 150)))


def replica_racks(rng: Random, count: int) -> list[frozenset[str]]:
    """Racks in a cluster of a few brokers; unknown for some topics or partitions."""
    brokers = [rng.choice(RACKS) for _ in range(rng.randint(1, 6))]
    replicas = rng.randint(1, min(3, len(brokers)))
    known = rng.choice((0, rng.randint(0, count), count, count, count))
    return [frozenset(rng.sample(brokers, replicas)) for _ in range(known)]


def with_claims(group: Group, owned: list[Owned], generations: list[int]) -> Group:
    members = (
        Member(m.member_id, m.topics, claimed, generation, m.instance_id, m.rack)
        for m, claimed, generation in zip(group.members, owned, generations, strict=True)
    )
    return Group(tuple(members), group.topics, group.racks)


def no_history(rng: Random, group: Group) -> Group:
    return group


def skewed(rng: Random, group: Group) -> Group:
    """A few members own most partitions, subscribed or not; topics have grown or shrunk since."""
    weights = [rng.expovariate(1) ** 3 for _ in group.members]
    owned: list[Owned] = [{} for _ in group.members]
    for topic, count in [*group.topics.items(), ("gone", 5), ("never-there", 5)]:
        for p in range(max(0, count + rng.randint(-count, 3))):
            if rng.random() < 0.9:
                (owner,) = rng.choices(range(len(owned)), weights)
                owned[owner].setdefault(topic, []).append(p)
    return with_claims(group, owned, [1] * len(owned))


def contradictory(rng: Random, group: Group) -> Group:
    """Two histories at once: partitions are claimed twice, in the same or in different generations."""
    first, second = skewed(rng, group), skewed(rng, group)
    owned: list[Owned] = []
    for m, n in zip(first.members, second.members, strict=True):
        both = {t: [*m.owned.get(t, ()), *n.owned.get(t, ())] for t in sorted({*m.owned, *n.owned})}
        owned.append(both if rng.random() < 0.5 else {t: list(ps) for t, ps in m.owned.items()})
    return with_claims(group, owned, [rng.randint(0, 2) for _ in owned])


def planned_before(rng: Random, group: Group) -> Group:
    """A planned group after members joined, left or resubscribed, topics grew, or racks changed."""
    before = {t: rng.randint(0, count) if rng.random() < 0.3 else count for t, count in group.topics.items()}
    then = Group(group.members, before, group.racks)
    settled = next_generation(then, plan_fair(then), 4)
    newcomers = rng.choice((0, 0, 1, 3))
    members = []
    for i, m in enumerate(settled.members):
        owned, topics, rack = m.owned, m.topics, m.rack
        if i < newcomers:
            owned = {}
        elif rng.random() < 0.1:
            continue
        elif rng.random() < 0.1:
            topics = frozenset(t for t in group.topics if rng.random() < 0.5)
        elif group.racks and rng.random() < 0.2:
            rack = rng.choice(RACKS)
        members.append(Member(m.member_id, topics, owned, 4, m.instance_id, rack))
    return Group(tuple(members), group.topics, group.racks)


def fresh(group: Group) -> Group:
    """The same group without a history."""
    return with_claims(group, [{} for _ in group.members], [0] * len(group.members))


@pytest.mark.parametrize("batch", batches(GROUPS, BATCH, quick=2))
def test_no_plan_scores_better(batch: range) -> None:
    """Plans are valid, calm and deterministic, and the best: fair, near, sticky, spread."""
    for seed in batch:
        small = seed % SMALL == 0
        group = any_group(Random(seed), small=small)
        claims = resolve(group)
        plan = plan_sticky(group, claims)
        plans = [(plan, group, False), (plan_fairest_sticky(group, claims), group, True)]
        if seed % TWICE == 0:
            plans.append((plan_fair(group), fresh(group), False))
            mixed = shuffled(group, seed)
            assert plan_sticky(mixed, resolve(mixed)) == plan, f"seed {seed}: another order, another plan"
            again = next_generation(group, plan, 9)
            assert plan_sticky(again, resolve(again)) == plan, f"seed {seed}: not calm"
        for judged, problem, keep_all in plans:
            owner_of = checked(problem, judged)
            assert oracle.is_best(problem, owner_of, keep_all=keep_all), f"seed {seed}, {keep_all=}"
            if small:
                best = oracle.best_by_flow(problem, keep_all=keep_all)
                assert oracle.score(problem, owner_of) == best, f"seed {seed}, {keep_all=}"


def checked(group: Group, plan: Assignment) -> dict[TopicPartition, str]:
    """Assert that the plan is valid; return partition -> member."""
    owner_of, wanted = oracle.by_partition(plan), oracle.wanted(group)
    assert owner_of.keys() == wanted.keys()
    assert all(owner in wanted[tp] for tp, owner in owner_of.items())
    return owner_of


@pytest.mark.parametrize("batch", batches(100, 20))
def test_oracle_agrees_with_the_network_simplex(batch: range) -> None:
    """They agree on optimal, nearly optimal and random plans."""
    for seed in batch:
        compare_judgements(seed)


def compare_judgements(seed: int) -> None:
    rng = Random(seed)
    group = any_group(rng, small=True)
    choices = oracle.wanted(group)
    for keep_all in (False, True):
        planner = plan_fairest_sticky if keep_all else plan_sticky
        plan = oracle.by_partition(planner(group, resolve(group)))
        best = oracle.best_by_flow(group, keep_all=keep_all)
        for changes in (0, 1, 2, 3, len(plan)):
            other = dict(plan)
            for tp in rng.sample(sorted(plan), min(changes, len(plan))):
                if not keep_all or tp not in oracle.owners(group):
                    other[tp] = rng.choice(choices[tp])
            is_best = oracle.score(group, other) == best
            assert oracle.is_best(group, other, keep_all=keep_all) == is_best
