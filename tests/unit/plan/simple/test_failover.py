"""The active member, by examples; tests/property compares any group with the definition."""

from __future__ import annotations

from collections.abc import Mapping

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


def test_the_highest_priority_gets_everything() -> None:
    """Also from another owner."""
    owned = {"t0": [0, 1], "t1": [0, 1, 2]}
    assert active(member("a", BOTH, owned, priority=1), member("b", BOTH, priority=2)) == "b"


def test_groups_without_members_or_topics() -> None:
    for preempt in (True, False):
        group = Group((), TOPICS)
        assert plan_failover(group, resolve(group), preempt=preempt) == {}
        assert active(member("a", [], priority=1), preempt=preempt) is None
        assert actives(member("a", ["gone"], priority=1), preempt=preempt, topics={}) == {}


# --- preemption off ----------------------------------------------------------------------------------------


def test_the_active_member_stays_when_others_join() -> None:
    """Of any priority."""
    owned = {"t0": [0, 1], "t1": [0, 1, 2]}
    others = [member(name, BOTH, priority=9, instance_id=name) for name in "bc"]
    assert active(member("a", BOTH, owned, priority=1), *others, preempt=False) == "a"


def test_an_unsubscribed_member_is_no_longer_active() -> None:
    members = (
        member("a", ["t1"], {"t0": [0, 1], "t1": [0, 1, 2]}, priority=1),
        member("b", BOTH, priority=9),
        member("c", BOTH, priority=5),
    )
    assert actives(*members, preempt=False) == {"t0": "b", "t1": "a"}


def test_a_stale_claim_takes_nothing_from_the_active_member() -> None:
    """Also partitions that the zombie claims and the active member does not."""
    zombie = member("z", BOTH, {"t0": [0, 1], "t1": [0, 1, 2]}, generation=3, priority=9)
    assert active(zombie, member("a", BOTH, {"t0": [0]}, generation=4, priority=1), preempt=False) == "a"


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
