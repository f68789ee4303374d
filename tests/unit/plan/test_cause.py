"""The causes of a rebalance, from two views of a group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.plan.cause import Cause, GroupSnapshot, RebalanceCause, SeenMember, causes_between

A = SeenMember(frozenset({"t"}), client_id="a", generation=4)
B = SeenMember(frozenset({"t"}), client_id="b", generation=4)
GROUP = GroupSnapshot({"a-1": A, "b-1": B}, {"t": 4})


def causes(after: GroupSnapshot, before: GroupSnapshot = GROUP, **how: Cause) -> list[str]:
    return [str(cause) for cause in causes_between(before, after, **how)]


def with_members(**members: SeenMember) -> GroupSnapshot:
    return replace(GROUP, members={name.replace("_", "-"): member for name, member in members.items()})


def test_the_same_group_has_no_cause() -> None:
    assert causes(GROUP) == []


@pytest.mark.parametrize(
    ("new", "cause"),
    [
        (SeenMember(frozenset({"t"}), client_id="c", generation=-1), "joined"),
        (SeenMember(frozenset({"t"})), "joined"),
        (replace(B, client_id="c"), "rejoined"),
    ],
    ids=["no generation", "unknown generation", "a generation"],
)
def test_new_member_with_a_generation_rejoined_and_any_other_joined(new: SeenMember, cause: str) -> None:
    assert causes(with_members(a_1=A, b_1=B, c_1=new)) == [f"{cause} (c-1)"]


def test_new_id_with_the_client_id_of_the_missing_member_rejoined() -> None:
    assert causes(with_members(a_1=A, b_2=replace(B, generation=-1))) == ["rejoined (b-2)"]


def test_shared_client_id_does_not_identify_a_member() -> None:
    a, b, new = (
        replace(member, client_id="kafka-python", generation=generation)
        for member, generation in ((A, 4), (B, 4), (B, -1))
    )
    before, after = with_members(a_1=a, b_1=b), with_members(a_1=a, b_2=new)
    assert causes(after, before) == ["joined (b-2)", "gone (b-1)"]


def test_client_id_identifies_a_member_only_if_one_has_it_before_and_after() -> None:
    old, new = (replace(A, client_id="app", generation=generation) for generation in (4, -1))
    after = with_members(a_2=new, a_3=new)
    assert causes(after, with_members(a_1=old)) == ["joined (a-2, a-3)", "gone (a-1)"]
    before = with_members(a_1=old, b_1=old)
    assert causes(with_members(c_1=new), before) == ["joined (c-1)", "gone (a-1, b-1)"]


def test_static_member_with_a_new_id_restarted() -> None:
    static = replace(B, instance_id="one")
    before = with_members(a_1=A, b_1=static)
    assert causes(with_members(a_1=A, b_2=replace(static, generation=-1)), before) == ["restarted (one)"]


def test_dynamic_member_does_not_continue_a_static_one() -> None:
    before = with_members(a_1=A, b_1=replace(B, instance_id="one"))
    after = with_members(a_1=A, b_2=replace(B, generation=-1))
    assert causes(after, before) == ["joined (b-2)", "lost (one)"]


@pytest.mark.parametrize(
    ("missing", "expected"), [(Cause.GONE, ["gone (b-1)"]), (Cause.LEFT, ["left (b-1)"])]
)
def test_missing_dynamic_member_gets_the_given_cause(missing: Cause, expected: list[str]) -> None:
    assert causes(with_members(a_1=A), missing=missing) == expected


def test_missing_static_member_was_lost() -> None:
    before = with_members(a_1=A, b_1=replace(B, instance_id="one"))
    assert causes(with_members(a_1=A), before, missing=Cause.LEFT) == ["lost (one)"]


def test_subscription_change_lists_topics() -> None:
    changed = replace(B, topics=frozenset({"u", "v"}))
    after = replace(with_members(a_1=A, b_1=changed), partitions={"t": 4, "u": 1, "v": 1})
    assert causes(after) == ["subscription (b-1: +u, +v, -t)"]


def test_restarted_member_may_have_changed_its_subscription() -> None:
    before = with_members(a_1=A, b_1=replace(B, instance_id="one"))
    after = with_members(a_1=A, b_2=replace(B, instance_id="one", topics=frozenset({"t", "u"})))
    assert causes(after, before) == ["restarted (one)", "subscription (one: +u)"]


def test_topics_grow_shrink_appear_and_disappear() -> None:
    topics = frozenset({"t", "u", "v", "w"})
    members = {"a-1": replace(A, topics=topics)}
    before = GroupSnapshot(members, {"t": 4, "u": 2, "v": 1})
    after = GroupSnapshot(members, {"t": 6, "u": 1, "w": 1})
    assert causes(after, before) == [
        "topic-appeared (w)",
        "topic-grew (t: 4 to 6)",
        "topic-shrank (u: 2 to 1)",
        "topic-disappeared (v)",
    ]


def test_topic_that_matches_a_pattern_appeared() -> None:
    before = GroupSnapshot({"a-1": A}, {"t": 4}, all_topics=frozenset({"t", "other"}))
    wider = {"a-1": replace(A, topics=frozenset({"t", "t2"}))}
    after = GroupSnapshot(wider, {"t": 4, "t2": 1}, all_topics=frozenset({"t", "t2", "other"}))
    assert causes(after, before) == ["topic-appeared (t2)"]
    assert causes(before, after) == ["topic-disappeared (t2)"]


def test_known_topic_that_a_member_adds_is_a_subscription_change() -> None:
    before = GroupSnapshot({"a-1": A}, {"t": 4}, all_topics=frozenset({"t", "u"}))
    wider = {"a-1": replace(A, topics=frozenset({"t", "u"}))}
    after = GroupSnapshot(wider, {"t": 4, "u": 1}, all_topics=frozenset({"t", "u"}))
    assert causes(after, before) == ["subscription (a-1: +u)"]


def test_changed_number_of_a_member_that_stayed_is_its_request() -> None:
    before = with_members(
        a_1=replace(A, requests={Cause.PROBE: 1}), b_1=replace(B, requests={Cause.PROBE: 1})
    )
    again = replace(B, requests={Cause.PROBE: 2, Cause.UPGRADE: 1})
    assert causes(with_members(a_1=before.members["a-1"], b_1=again), before) == ["probe (b-1)"]
    assert causes(with_members(a_1=A, b_1=B), before) == []
    assert causes(with_members(a_1=A, b_2=again), before) == ["rejoined (b-2)"]


def test_names_and_details_are_apart() -> None:
    topics = frozenset({"t", "u"})
    before = GroupSnapshot({"b": A, "a": A}, {"t": 4, "u": 2})
    after = GroupSnapshot({"b": replace(A, topics=topics), "a": replace(A, topics=topics)}, {"t": 6, "u": 2})
    assert causes_between(before, after) == [
        RebalanceCause(Cause.SUBSCRIPTION, ("a", "b"), ("+u", "+u")),
        RebalanceCause(Cause.TOPIC_GREW, ("t",), ("4 to 6",)),
    ]
    assert causes_between(before, replace(before, members={"b": A})) == [RebalanceCause(Cause.GONE, ("a",))]


def test_text_is_bounded_and_printable() -> None:
    cause = RebalanceCause(Cause.JOINED, tuple("abcd"))
    assert str(cause) == "joined (a, b, c and 1 more)"
    assert cause.label == "joined"
    grew = RebalanceCause(Cause.TOPIC_GREW, tuple("abcd"), ("1 to 2",) * 4)
    assert str(grew) == "topic-grew (a: 1 to 2, b: 1 to 2, c: 1 to 2 and 1 more)"
    assert causes_between(GROUP, replace(GROUP, members={**GROUP.members, "x\n": A}))[0].names == ("x\n",)
    assert causes(replace(GROUP, members={**GROUP.members, "x\n": A})) == ["rejoined ('x\\n')"]
    assert str(RebalanceCause(Cause.UNKNOWN)) == "unknown"
