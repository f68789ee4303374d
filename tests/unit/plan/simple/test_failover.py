"""The active member, by examples; tests/property compares any group with the definition."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_assignors.plan import Group, Member, plan_failover, plan_seniors, resolve
from tests.support.plan.builders import member

TOPICS = {"t0": 2, "t1": 3}
BOTH = ("t0", "t1")


def actives(
    *members: Member, preempt: bool = True, topics: Mapping[str, int] = TOPICS
) -> dict[str, str | None]:
    """The active member of each topic; every topic must be whole."""
    group = Group(members, topics)
    plan = plan_failover(group, resolve(group), preempt=preempt)
    active_of: dict[str, str | None] = dict.fromkeys(group.topics)
    for member_id, owned in plan.items():
        for topic, numbers in owned.items():
            assert active_of[topic] is None
            assert numbers == list(range(group.topics[topic]))
            active_of[topic] = member_id
    return active_of


def test_groups_without_members_or_topics() -> None:
    for preempt in (True, False):
        group = Group((), TOPICS)
        assert plan_failover(group, resolve(group), preempt=preempt) == {}
        assert actives(member("a", [], priority=1), preempt=preempt) == {"t0": None, "t1": None}
        assert actives(member("a", ["gone"], priority=1), preempt=preempt, topics={}) == {}


# --- preemption off ----------------------------------------------------------------------------------------


def test_an_unsubscribed_member_is_no_longer_active() -> None:
    members = (
        member("a", ["t1"], {"t0": [0, 1], "t1": [0, 1, 2]}, priority=1),
        member("b", BOTH, priority=9),
        member("c", BOTH, priority=5),
    )
    assert actives(*members, preempt=False) == {"t0": "b", "t1": "a"}


def test_topics_without_an_active_member_follow_another_active_member() -> None:
    """With unequal subscriptions two active members are possible, but not necessary."""
    members = (
        member("a", ["t0", "t1"], {"t0": [0, 1]}, priority=1),
        member("b", ["t0", "t1"], priority=9),
        member("c", ["t0"], priority=5),
    )
    assert actives(*members, preempt=False) == {"t0": "a", "t1": "a"}


def test_plan_seniors_picks_the_most_senior_subscriber() -> None:
    """Priorities do not count."""
    group = Group((member("a", ["t0"]), member("b", BOTH, priority=9)), TOPICS | {"t2": 1})
    assert plan_seniors(group) == {"a": {"t0": [0, 1]}, "b": {"t1": [0, 1, 2]}}
    assert plan_seniors(Group((), TOPICS)) == {}


# --- size --------------------------------------------------------------------------------------------------


def owners_of(group: Group, *, preempt: bool) -> set[int]:
    return set(plan_failover(group, resolve(group), preempt=preempt).owners.tolist())


def test_a_large_group_has_one_owner() -> None:
    """Wide arrays: 20,000 partitions of 2,000 topics, 300 members."""
    topics = {f"t{i:04}": 10 for i in range(2000)}
    everything = frozenset(topics)
    members = [Member(f"m{i:03}", everything, priority=i % 100) for i in range(299)]
    old = Member("old", everything, {t: range(10) for t in topics}, 3, priority=-1)
    group = Group((*members, old), topics)
    assert owners_of(group, preempt=True) == {99}
    assert owners_of(group, preempt=False) == {299}
