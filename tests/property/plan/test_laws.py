"""The laws of every planner, on random groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors.plan import (
    NO_MEMBER,
    Assignment,
    Group,
    keep_owned,
    measure,
    plan_cooperative_lag_aware,
    plan_failover,
    plan_fair,
    plan_fairest_sticky,
    plan_lag_aware,
    plan_range,
    plan_roundrobin,
    plan_seniors,
    plan_sticky,
    resolve,
    unlisted_owners,
)
from tests.support.plan import oracle
from tests.support.plan.builders import groups, lagging, next_generation, settled_groups, shuffled
from tests.support.searching import times

Planner = Callable[[Group], Assignment]

PLANNERS: dict[str, Planner] = {
    "range": plan_range,
    "roundrobin": plan_roundrobin,
    "fair": plan_fair,
    "sticky": lambda group: plan_sticky(group, resolve(group)),
    "fairest-sticky": lambda group: plan_fairest_sticky(group, resolve(group)),
    "lag-aware": plan_lag_aware,
    "cooperative-lag-aware": lambda group: plan_cooperative_lag_aware(group, resolve(group)),
    "cooperative-lag-aware, loads only": lambda group: plan_cooperative_lag_aware(
        group, resolve(group), max_partition_skew=None, min_improvement=0
    ),
    "cooperative-lag-aware, skew of 2": lambda group: plan_cooperative_lag_aware(
        group, resolve(group), max_partition_skew=2, min_improvement=0.02
    ),
    "the most senior": plan_seniors,
    "failover": lambda group: plan_failover(group, resolve(group)),
    "failover without preemption": lambda group: plan_failover(group, resolve(group), preempt=False),
}
every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
unlagged = st.one_of(groups(), groups(equal=True), settled_groups(), settled_groups(equal=True))
any_group = st.one_of(unlagged, lagging(unlagged))


@every_planner
@settings(max_examples=times(0.4))  # for each of the planners
@given(group=any_group)
def test_plan_gives_each_subscribed_partition_one_owner(planner: Planner, group: Group) -> None:
    """Every subscribed partition has exactly one owner, a subscriber; no other partition has an owner."""
    assignment = planner(group)
    assert sorted(assignment) == sorted(m.member_id for m in group.members)
    owner_of = oracle.by_partition(assignment)
    wanted = oracle.wanted(group)
    assert owner_of.keys() == wanted.keys()
    assert all(owner in wanted[tp] for tp, owner in owner_of.items())


@every_planner
@settings(max_examples=times(0.4))  # for each of the planners
@given(group=any_group, seed=st.integers(0, 2**32))
def test_plan_does_not_depend_on_order(planner: Planner, group: Group, seed: int) -> None:
    """Any order of members, topics, dicts and sets gives the same plan."""
    assert planner(shuffled(group, seed)) == planner(group)


@every_planner
@settings(max_examples=times(0.4))  # for each of the planners
@given(group=any_group)
def test_numbers_of_a_topic_are_ascending(planner: Planner, group: Group) -> None:
    """A member's partitions of a topic are ascending, and no topic is listed without partitions."""
    for topics in planner(group).values():
        assert all(numbers and numbers == sorted(numbers) for numbers in topics.values())


@every_planner
@settings(max_examples=times(0.4))  # for each of the planners
@given(group=any_group)
def test_second_plan_changes_nothing(planner: Planner, group: Group) -> None:
    """Planning again with nothing changed changes nothing."""
    assignment = planner(group)
    assert planner(next_generation(group, assignment, 9)) == assignment


@settings(max_examples=times(2.5))
@given(
    group=st.one_of(
        groups(max_members=3, max_topics=3, max_partitions=2),
        groups(max_members=4, max_topics=2, max_partitions=2),
    )
)
def test_sticky_scores_as_the_best_of_all_plans(group: Group) -> None:
    """Fair, then near, then sticky, then spread: all assignments are tried, and none scores better."""
    plan = PLANNERS["sticky"](group)
    assert oracle.score(group, oracle.by_partition(plan)) == oracle.best_by_trying(group)


@settings(max_examples=times(2.5))
@given(group=any_group)
def test_sticky_scores_as_the_best_by_flow(group: Group) -> None:
    """Compared with an exact network simplex, on larger groups.

    What KIP-54 asks for follows.  With equal subscriptions "the numbers of topic partitions assigned to
    consumers differ by at most one".  With others no "partition can be moved [...] and improve the overall
    balance score at the same time".
    """
    plan = PLANNERS["sticky"](group)
    assert oracle.score(group, oracle.by_partition(plan)) == oracle.best_by_flow(group)


@given(group=any_group)
def test_fair_scores_as_the_best_without_history(group: Group) -> None:
    """The plan is the best for a group that never owned anything."""
    nothing_owned: dict[str, dict[str, list[int]]] = {m.member_id: {} for m in group.members}
    fresh = Group(next_generation(group, nothing_owned, 0).members, group.topics, group.racks)
    plan = plan_fair(group)
    assert oracle.score(fresh, oracle.by_partition(plan)) == oracle.best_by_flow(fresh)


@given(group=any_group)
def test_fairest_sticky_moves_no_owned_partition(group: Group) -> None:
    """The other partitions are placed as fairly, then as near, then as evenly spread, as that allows."""
    owner_of = oracle.by_partition(PLANNERS["fairest-sticky"](group))
    before = oracle.owners(group)
    assert {tp: owner_of[tp] for tp in before} == before
    assert oracle.score(group, owner_of) == oracle.best_by_flow(group, keep_all=True)


@given(group=any_group)
def test_range_cuts_contiguous_ranges_by_seniority(group: Group) -> None:
    """Per topic: ranges by seniority, with sizes that differ by at most one, larger ones first."""
    plan = plan_range(group)
    for topic in {tp.topic for tp in oracle.wanted(group)}:
        cut = [plan[m.member_id].get(topic, []) for m in group.members if topic in m.topics]
        assert [p for part in cut for p in part] == list(range(group.topics[topic]))
        sizes = [len(part) for part in cut]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1


@given(group=any_group)
def test_metrics_agree_with_the_oracle(group: Group) -> None:
    """Kept and moved partitions are counted against the resolved owners."""
    plan = PLANNERS["sticky"](group)
    metrics = measure(group, resolve(group), plan)
    before = oracle.owners(group)
    owner_of = oracle.by_partition(plan)
    assert metrics.kept == sum(owner_of.get(tp) == owner for tp, owner in before.items())
    assert metrics.moved == len(before) - metrics.kept
    assert metrics.partitions == len(owner_of)


@settings(max_examples=times(1.5))
@given(group=st.one_of(settled_groups(), groups()), seed=st.integers(0, 2**32), data=st.data())
def test_leader_with_stale_metadata_keeps_owned_partitions(
    group: Group, seed: int, data: st.DataObject
) -> None:
    """Owners keep their partitions, listed or not; no partition has two owners; the plan is deterministic."""
    listed = {t: data.draw(st.integers(0, count), t) for t, count in group.topics.items()}
    listed = {topic: count for topic, count in listed.items() if count}
    stale = replace(group, topics=listed)

    def plan(seen: Group) -> Assignment:
        claims = resolve(seen)
        unlisted = unlisted_owners(seen, claims)
        return Assignment(seen, keep_owned(seen, claims, unlisted).owners, unlisted)

    first = plan(stale)
    owner_of = oracle.by_partition(first)
    owned, wanted = oracle.owners(group), oracle.wanted(group)
    holders = resolve(group)
    for tp, owner in owner_of.items():
        known = tp.partition < listed.get(tp.topic, 0)
        assert known or tp not in wanted or owned.get(tp, owner) == owner
    for tp, owner in owned.items():
        index = group.first[tp.topic] + tp.partition
        elsewhere = holders.holder[index] not in (NO_MEMBER, holders.owner[index])
        assert owner_of.get(tp) == owner or elsewhere, tp
    assert plan(shuffled(stale, seed)) == first
