"""Groups after members leave and join."""

from __future__ import annotations

import pytest

from kafka_assignors.cli.plan.what_if import joined, without
from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import Group
from tests.support.plan.builders import member

GROUP = Group(
    (member("app-1"), member("app-12", ["t1"]), member("web-7", instance_id="static-w")), {"t0": 3, "t1": 1}
)


def ids(group: Group) -> list[str]:
    return [m.member_id for m in group.members]


@pytest.mark.parametrize("name", ["web-7", "static-w", "we"])
def test_member_is_found_by_id_instance_id_or_prefix(name: str) -> None:
    group, gone = without(GROUP, [name])
    assert (ids(group), [m.member_id for m in gone]) == (["app-1", "app-12"], ["web-7"])


def test_full_id_wins_over_a_longer_id() -> None:
    assert ids(without(GROUP, ["app-1"])[0]) == ["web-7", "app-12"]


def test_member_id_wins_over_an_instance_id() -> None:
    group = Group((member("a"), member("b", instance_id="a")), {"t0": 1})
    assert ids(without(group, ["a"])[0]) == ["b"]


def test_member_named_twice_leaves_once() -> None:
    group, gone = without(GROUP, ["app-12", "app-12"])
    assert len(gone) == 1
    assert group.topics == GROUP.topics


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("app", "'app' matches several members: app-1, app-12"),
        ("x", "'x' matches no member: web-7, app-1, app-12"),
        ("", "'' matches no member: web-7, app-1, app-12"),
    ],
)
def test_ambiguous_and_unknown_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(ProblemError) as error:
        without(GROUP, [name])
    assert str(error.value) == message


def test_name_of_a_group_without_members_is_refused() -> None:
    with pytest.raises(ProblemError, match="'x' matches no member: the group has none"):
        without(Group((), {"t0": 1}), ["x"])


def test_joining_member_takes_topics_of_departed_members_or_all() -> None:
    group, gone = without(Group((member("a", ["t1"]),), {"t0": 1, "t1": 1}), ["a"])
    assert [m.topics for m in joined(group, 1, gone).members] == [frozenset({"t1"})]
    assert [m.topics for m in joined(group, 1).members] == [frozenset({"t0", "t1"})]


def test_joining_member_subscribes_to_all_members_topics() -> None:
    """It has neither rack nor priority."""
    group = joined(Group((member("new-2"), member("a", ["t1"])), {"t0": 1, "t1": 1}), 2)
    new = [m for m in group.members if m.member_id in {"new-1", "new-3"}]
    assert new == [member(member_id, ["t0", "t1"]) for member_id in ("new-1", "new-3")]
    assert len(group.members) == 4
