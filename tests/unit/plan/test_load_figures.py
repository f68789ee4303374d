"""The largest load of a plan, and moves for load."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_assignors.plan import Assignment, Group, Hold, Ownership, Reason, Why, measure, resolve, this_round
from kafka_assignors.plan.explain import explain
from tests.support.plan.builders import member


def reasons(group: Group, plan: Mapping[str, Ownership], *, by_load: bool = True) -> list[Why]:
    claims, target = resolve(group), Assignment.of(group, plan)
    assigned, holds = this_round(group, claims, target)
    assert all(isinstance(hold, Hold) for hold in holds)
    return explain(group, claims, target, assigned, holds, by_load=by_load)


def test_max_load_counts_all_topics_of_a_member() -> None:
    both = ("t0", "t1")
    group = Group(
        (member("a", both), member("b", both)), {"t0": 2, "t1": 2}, lags={"t0": [1, 2], "t1": [30, 40]}
    )
    plan = Assignment.of(group, {"a": {"t0": [0], "t1": [1]}, "b": {"t0": [1], "t1": [0]}})
    assert measure(group, resolve(group), plan).max_load == 41


@pytest.mark.parametrize(
    ("lags", "load"), [({}, None), ({"t0": [-1, -1]}, None), ({"t0": [0, 0]}, 0), ({"t0": [0, -1]}, 0)]
)
def test_max_load_is_none_only_if_all_lag_is_unknown(lags: dict[str, list[int]], load: int | None) -> None:
    group = Group((member("a"),), {"t0": 2}, lags=lags)
    assert measure(group, resolve(group), Assignment.of(group, {"a": {"t0": [0, 1]}})).max_load == load


HOT = Group(
    (member("a", owned={"t0": [0, 1]}, still_owns=True), member("b", owned={"t0": [2, 3]}, still_owns=True)),
    {"t0": 4},
    lags={"t0": [90, 80, 1, 2]},
)


def test_a_move_for_counts_is_explained_by_balance() -> None:
    """The new member owns nothing, so its count is the reason."""
    group = Group((*HOT.members, member("c")), HOT.topics, lags=HOT.lags)
    plan = {"a": {"t0": [0]}, "b": {"t0": [2, 3]}, "c": {"t0": [1]}}
    assert reasons(group, plan)[1].reason is Reason.MOVED


def test_reason_is_dealt_by_lag_only_if_a_lag_is_above_0() -> None:
    for lags, reason in (
        (HOT.lags, Reason.DEALT_BY_LAG),
        ({}, Reason.DEALT),
        ({"t0": [0] * 4}, Reason.DEALT),
    ):
        group = Group(HOT.members, HOT.topics, lags=lags)
        claims, target = resolve(group), Assignment.of(group, {"a": {"t0": [1, 2]}, "b": {"t0": [0, 3]}})
        why = explain(group, claims, target, target, (), in_order=True, by_load=True)
        assert [entry.reason for entry in why] == [reason, Reason.KEPT, reason, Reason.KEPT]


def test_moves_for_load_need_lag_and_by_load() -> None:
    plan = {"a": {"t0": [1, 2]}, "b": {"t0": [0, 3]}}
    idle = Group(HOT.members, HOT.topics)
    assert reasons(idle, plan)[0].reason is Reason.MOVED
    assert reasons(HOT, plan, by_load=False)[0].reason is Reason.MOVED
    moved, *_ = reasons(HOT, plan)
    assert (moved.reason, str(moved)) == (Reason.LOAD, "moved for load: a; waits for revocation by a")
