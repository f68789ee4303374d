"""The reason for every partition's owner."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import (
    Assignment,
    Group,
    Hold,
    Member,
    Ownership,
    Reason,
    TopicPartition,
    Why,
    plan_fair,
    plan_sticky,
    resolve,
    this_round,
)
from kafka_assignors.plan.explain import explain
from tests.support.plan.builders import groups, member
from tests.support.plan.oracle import by_partition, lots, owners, wanted


def why(
    group: Group, plan: Mapping[str, Ownership], *, departed: tuple[Member, ...] = (), in_order: bool = False
) -> list[Why]:
    """Explain a target as a leader that holds back partitions of other members."""
    claims, target = resolve(group), Assignment.of(group, plan)
    now, holds = this_round(group, claims, target)
    return explain(group, claims, target, now, holds, departed=departed, in_order=in_order)


def only(group: Group, target: Mapping[str, Ownership]) -> Why:
    """The reason for the only partition."""
    (entry,) = why(group, target)
    return entry


A = member("a", owned={"t0": [0]})
LEFT = member("a", ["t1"], {"t0": [0]})  # it no longer subscribes
TO_A, TO_B = {"a": {"t0": [0]}}, {"a": {}, "b": {"t0": [0]}}


@pytest.mark.parametrize(
    ("members", "target", "expected"),
    [
        ((A,), TO_A, Why("t0", 0, "a", Reason.KEPT)),
        ((A, member("b")), TO_B, Why("t0", 0, "b", Reason.MOVED, ("a",))),
        ((member("a"),), TO_A, Why("t0", 0, "a", Reason.NO_OWNER)),
        ((LEFT, member("b")), TO_B, Why("t0", 0, "b", Reason.OWNER_UNSUBSCRIBED, ("a",))),
        ((LEFT,), {"a": {}}, Why("t0", 0, None, Reason.NOBODY_SUBSCRIBES, ("a",))),
        ((member("a", ["t1"]),), {"a": {}}, Why("t0", 0, None, Reason.NOBODY_SUBSCRIBES)),
    ],
)
def test_owner_has_a_reason_that_names_the_old_owner(
    members: tuple[Member, ...], target: Mapping[str, Ownership], expected: Why
) -> None:
    assert only(Group(members, {"t0": 1}), target) == expected


NEAR_B = {"t0": [frozenset("y")] * 2}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("x", "y", Reason.NEARER),
        (None, "y", Reason.NEARER),
        ("y", "y", Reason.MOVED),
        ("y", "x", Reason.MOVED),
        ("x", "x", Reason.MOVED),
        ("x", None, Reason.MOVED),
    ],
)
def test_a_move_into_a_rack_with_a_replica_says_so(old: str | None, new: str | None, reason: Reason) -> None:
    """Only from a member without a replica in its rack; a strategy that deals in order ignores racks."""
    group = Group((member("a", owned={"t0": [0]}, rack=old), member("b", rack=new)), {"t0": 1}, NEAR_B)
    target = {"a": {}, "b": {"t0": [0]}}
    assert only(group, target) == Why("t0", 0, "b", reason, ("a",))
    (in_order,) = why(group, target, in_order=True)
    assert in_order.reason is Reason.DEALT


def test_a_departed_owner_is_named() -> None:
    """The newest claim of departed members counts, only for partitions that no member claims."""
    gone = member("x", owned={"t0": [0, 1]}, generation=3), member("y", owned={"t0": [0]}, generation=2)
    group = Group((member("a", owned={"t0": [1]}),), {"t0": 3})
    assert [(w.reason, w.others) for w in why(group, {"a": {"t0": [0, 1, 2]}}, departed=gone)] == [
        (Reason.OWNER_GONE, ("x",)),
        (Reason.KEPT, ()),
        (Reason.NO_OWNER, ()),
    ]


def test_a_departed_owner_of_a_partition_without_subscribers_is_named() -> None:
    group = Group((member("b", ["t1"]),), {"t0": 1, "t1": 1})
    [unread, _] = why(group, {"b": {"t1": [0]}}, departed=(A,))
    assert unread == Why("t0", 0, None, Reason.NOBODY_SUBSCRIBES, ("a",))


def test_claims_of_one_generation_are_contested() -> None:
    """An older claim is not named, and a duplicate claim of one member counts once."""
    claimants = (
        member("old", owned={"t0": [0]}, generation=1),
        member("a", owned={"t0": [0, 0]}, generation=2),
        member("b", owned={"t0": [0]}, generation=2),
    )
    entry = only(Group(claimants, {"t0": 1}), {"old": {"t0": [0]}, "a": {}, "b": {}})
    assert entry == Why("t0", 0, "old", Reason.CONTESTED, ("a", "b"))


def test_a_held_back_partition_names_the_member_it_waits_for() -> None:
    group = Group((member("a", owned={"t0": [0, 1]}, still_owns=True), member("b")), {"t0": 2})
    kept, moved = why(group, {"a": {"t0": [0]}, "b": {"t0": [1]}})
    assert (kept.waits_for, moved.waits_for) == (None, "a")


def test_an_overdue_hold_is_not_waited_for() -> None:
    """It is still listed as a hold, but the new owner gets the partition."""
    group = Group((member("a", ["t1"], {"t0": [0]}, still_owns=True), member("b")), {"t0": 1})
    target = Assignment.of(group, {"a": {}, "b": {"t0": [0]}})
    (entry,) = explain(group, resolve(group), target, target, [Hold("t0", 0, "a")])
    assert entry.waits_for is None


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Why("t", 0, "a", Reason.KEPT), "kept"),
        (Why("t", 0, "b", Reason.MOVED, ("a",)), "moved for balance: a"),
        (
            Why("t", 0, "b", Reason.MOVED, ("a",), waits_for="a"),
            "moved for balance: a; waits for revocation by a",
        ),
        (Why("t", 0, "a", Reason.CONTESTED, tuple("abcde")), "claim contested: a, b, c and 2 more"),
    ],
)
def test_a_reason_as_text(reason: Why, text: str) -> None:
    assert str(reason) == text


@given(group=groups())
def test_reasons_agree_with_the_oracle(group: Group) -> None:
    """The oracle computes owners independently: a partition is kept exactly when its owner stays."""
    target = plan_sticky(group, resolve(group))
    had, to = owners(group), by_partition(target)
    entries = why(group, target)
    assert [(w.topic, w.partition) for w in entries] == [
        (t, p) for t in group.topics for p in range(group.topics[t])
    ]
    for entry in entries:
        at = TopicPartition(entry.topic, entry.partition)
        assert entry.member_id == to.get(at)
        assert (entry.reason is Reason.KEPT) == (at in had and had[at] == to.get(at))
        moved = entry.reason in {Reason.MOVED, Reason.NEARER}
        assert moved == (at in had and at in to and had[at] != to[at])
        if moved and (near := lots(group)[at].near) != set(wanted(group)[at]):
            assert (entry.reason is Reason.NEARER) == (to[at] in near and had[at] not in near)
        assert (entry.reason is Reason.NOBODY_SUBSCRIBES) == (at not in to)


@given(group=groups(), data=st.data())
def test_a_partition_waits_exactly_if_it_is_not_given_yet(group: Group, data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from((plan_sticky(group, resolve(group)), plan_fair(group))))
    now = by_partition(this_round(group, resolve(group), plan)[0])
    for entry in why(group, plan):
        late = now.get(TopicPartition(entry.topic, entry.partition)) != entry.member_id
        assert (entry.waits_for is not None) == late
