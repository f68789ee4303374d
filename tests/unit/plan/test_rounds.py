"""The part of a target that one round gives."""

from __future__ import annotations

from collections.abc import Collection

from kafka_assignors.plan import Assignment, Group, Hold, resolve
from kafka_assignors.plan import this_round as round_of
from tests.support.plan.builders import member

Plan = dict[str, dict[str, list[int]]]


def this_round(group: Group, target: Plan, overdue: Collection[Hold] = ()) -> tuple[Plan, list[Hold]]:
    """``plan.this_round`` with plain dictionaries."""
    assigned, holds = round_of(group, resolve(group), Assignment.of(group, target), overdue)
    return dict(assigned), holds


def test_a_partition_waits_until_its_holder_has_revoked_it() -> None:
    """It is missing from both assignments, so the holder revokes it and rejoins."""
    group = Group((member("a", owned={"t0": [0, 1]}, still_owns=True), member("b")), {"t0": 2})
    assigned, held = this_round(group, {"a": {"t0": [0]}, "b": {"t0": [1]}})
    assert assigned == {"a": {"t0": [0]}, "b": {}}
    assert held == [Hold("t0", 1, "a")]


def test_partitions_of_an_eager_member_are_free_at_once() -> None:
    """It revoked everything before it joined; waiting for it would never end."""
    group = Group((member("a", owned={"t0": [0, 1]}), member("b")), {"t0": 2})
    target: Plan = {"a": {"t0": [0]}, "b": {"t0": [1]}}
    assert this_round(group, target) == (target, [])


def test_a_contested_partition_stays_with_one_holder() -> None:
    """The other holder sees it missing and revokes it.  A third member has to wait."""
    group = Group((*(member(m, owned={"t0": [0]}, still_owns=True) for m in "ab"), member("c")), {"t0": 1})
    assert this_round(group, {"a": {}, "b": {"t0": [0]}, "c": {}}) == (
        {"a": {}, "b": {"t0": [0]}, "c": {}},
        [],
    )
    assert this_round(group, {"a": {}, "b": {}, "c": {"t0": [0]}}) == (
        {"a": {"t0": [0]}, "b": {}, "c": {}},
        [Hold("t0", 0, "a")],
    )


def test_the_holder_of_an_overdue_hold_is_given_the_partition() -> None:
    """It has nothing to revoke.  Now its claim is true, and the next round can move the partition."""
    group = Group((member("a", owned={"t0": [0, 1]}, still_owns=True), member("b")), {"t0": 2})
    target: Plan = {"a": {"t0": [0]}, "b": {"t0": [1]}}
    hold = Hold("t0", 1, "a")
    assert this_round(group, target, {hold}) == ({"a": {"t0": [0, 1]}, "b": {}}, [hold])


def test_an_unsubscribed_holder_is_waited_for_once() -> None:
    """A cooperative consumer revokes unsubscribed topics before it joins, so the claim is stale."""
    group = Group((member("a", ["t1"], {"t0": [0]}, still_owns=True), member("b")), {"t0": 1})
    hold = Hold("t0", 0, "a")
    target: Plan = {"a": {}, "b": {"t0": [0]}}
    assert this_round(group, target) == ({"a": {}, "b": {}}, [hold])
    assert this_round(group, target, {hold}) == (target, [hold])
