"""The active member: by priority, seniority and subscription; without preemption by history."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_assignors.plan import Group, Member, Reason, plan_failover, plan_seniors, resolve, this_round
from kafka_assignors.plan.explain import explain
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


def active(*members: Member, preempt: bool = True, topics: Mapping[str, int] = TOPICS) -> str | None:
    """The member that is active for every topic."""
    (member_id,) = set(actives(*members, preempt=preempt, topics=topics).values())
    return member_id


EVERYTHING = {"t0": [0, 1], "t1": [0, 1, 2]}


@pytest.mark.parametrize(
    ("a", "b", "first"), [(1, 2, "b"), (-5, -(2**31), "a"), (-1, 0, "b"), (None, -(2**31), "b")]
)
def test_the_highest_priority_gets_everything(a: int | None, b: int, first: str) -> None:
    """Also from another owner.  Priorities are signed; members without one come last."""
    assert active(member("a", BOTH, EVERYTHING, priority=a), member("b", BOTH, priority=b)) == first


@pytest.mark.parametrize("priority", [None, 0, 7])
def test_ties_go_by_seniority(priority: int | None) -> None:
    """Static members first, then instance id, then member id."""
    a, b = member("a", BOTH, priority=priority), member("b", BOTH, priority=priority)
    assert active(b, a) == "a"
    static = member("z", BOTH, instance_id="s-1", priority=priority)
    assert active(a, static, b) == "z"


@pytest.mark.parametrize("preempt", [True, False])
def test_each_topic_goes_to_its_own_first_in_line(preempt: bool) -> None:
    members = (
        member("a", ["t0"], priority=9),
        member("b", ["t0", "t1"], priority=5),
        member("c", ["t1", "t2"], priority=7),
    )
    assert actives(*members, preempt=preempt, topics={"t0": 1, "t1": 2, "t2": 3, "t3": 1, "t4": 0}) == {
        "t0": "a",
        "t1": "c",
        "t2": "c",
        "t3": None,
        "t4": None,
    }


def test_groups_without_members_or_topics() -> None:
    for preempt in (True, False):
        group = Group((), TOPICS)
        assert plan_failover(group, resolve(group), preempt=preempt) == {}
        assert active(member("a", [], priority=1), preempt=preempt) is None
        assert actives(member("a", ["gone"], priority=1), preempt=preempt, topics={}) == {}


# --- preemption off ----------------------------------------------------------------------------------------


WITHOUT_PREEMPTION = {
    "others join, of any priority": (
        "a",
        (
            member("a", BOTH, EVERYTHING, priority=1),
            *(member(name, BOTH, priority=9, instance_id=name) for name in "bc"),
        ),
    ),
    "the active member owns one partition of one topic": (
        "a",
        (member("a", BOTH, {"t1": [1]}, priority=1), member("b", BOTH, priority=9)),
    ),
    "a zombie claims everything, also what the active member does not": (
        "a",
        (
            member("z", BOTH, EVERYTHING, generation=3, priority=9),
            member("a", BOTH, {"t0": [0]}, generation=4, priority=1),
        ),
    ),
    "without an active member the first in line takes over": (
        "c",
        (member("b", BOTH, priority=1), member("c", BOTH, priority=2)),
    ),
    "the owner of most partitions, so that the fewest move": (
        "b",
        (member("a", BOTH, {"t0": [0, 1]}, priority=9), member("b", BOTH, {"t1": [0, 1, 2]}, priority=1)),
    ),
    "the first in line of equal owners, as after a rebalance by range": (
        "b",
        (
            member("a", BOTH, {"t0": [0], "t1": [0]}, priority=1),
            member("b", BOTH, {"t0": [1], "t1": [1]}, priority=5),
            member("c", BOTH, priority=9),
        ),
    ),
    "two claim to be active in one generation, so the line decides": (
        "c",
        (
            *(member(name, BOTH, EVERYTHING, generation=4, priority=1) for name in "ab"),
            member("c", BOTH, priority=5),
        ),
    ),
}


@pytest.mark.parametrize(("expected", "members"), WITHOUT_PREEMPTION.values(), ids=WITHOUT_PREEMPTION)
def test_active_member_without_preemption(expected: str, members: tuple[Member, ...]) -> None:
    assert active(*members, preempt=False) == expected


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


def test_they_follow_the_first_in_line_of_two_active_members() -> None:
    members = (
        member("a", ["t0", "t2"], {"t0": [0]}, priority=1),
        member("b", ["t1", "t2"], {"t1": [0]}, priority=2),
        member("c", ["t2"], priority=3),
    )
    assert actives(*members, preempt=False, topics={"t0": 2, "t1": 1, "t2": 1}) == {
        "t0": "a",
        "t1": "b",
        "t2": "b",
    }


def test_plan_seniors_picks_the_most_senior_subscriber() -> None:
    """Priorities do not count."""
    group = Group((member("a", ["t0"]), member("b", BOTH, priority=9)), TOPICS | {"t2": 1})
    assert plan_seniors(group) == {"a": {"t0": [0, 1]}, "b": {"t1": [0, 1, 2]}}
    assert plan_seniors(Group((), TOPICS)) == {}


# --- reasons -----------------------------------------------------------------------------------------------


def test_reasons_use_the_strategys_words() -> None:
    owned = {"t0": [0, 1]}
    group = Group((member("a", owned=owned, priority=1), member("b", priority=2)), {"t0": 3})
    claims = resolve(group)

    def reasons(*, preempt: bool, overrides: Mapping[Reason, Reason]) -> list[str]:
        target = plan_failover(group, claims, preempt=preempt)
        assigned, holds = this_round(group, claims, target)
        return [str(why) for why in explain(group, claims, target, assigned, holds, overrides=overrides)]

    highest = {Reason.MOVED: Reason.HIGHEST}
    moved = ["moved to the highest priority: a"] * 2
    assert reasons(preempt=True, overrides=highest) == [*moved, "no owner before"]
    stays = ["stays with the active member"] * 2
    assert reasons(preempt=False, overrides={Reason.KEPT: Reason.STAYS}) == [*stays, "no owner before"]


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
