"""What a group is made of."""

from __future__ import annotations

import pytest

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import Group, Member, seniority
from tests.builders import member


def test_members_are_in_order_of_seniority() -> None:
    """Static members first, then instance id, then member id."""
    group = Group((member("b"), member("a"), member("d", instance_id="2"), member("e", instance_id="1")), {})
    assert [m.member_id for m in group.members] == ["e", "d", "a", "b"]
    assert seniority(group.members[0]) < seniority(group.members[2])


def test_topics_are_in_order_of_their_names() -> None:
    """Whatever order the cluster's metadata has them in."""
    assert list(Group((), {"b": 1, "a": 1}).topics) == ["a", "b"]


def test_a_member_twice_is_a_problem() -> None:
    """An id is unique in a group."""
    with pytest.raises(ProblemError, match="twice"):
        Group((member("a"), member("a")), {})


def test_fewer_than_no_partitions_is_a_problem() -> None:
    """The topic is named."""
    with pytest.raises(ProblemError, match="'t'"):
        Group((), {"t": -1})


def test_subscribers_are_of_topics_that_exist() -> None:
    """A topic without partitions, or without subscribers, has nothing to plan."""
    group = Group((Member("a", frozenset({"t", "empty", "gone"})),), {"t": 1, "empty": 0, "unwanted": 3})
    assert {topic: [m.member_id for m in members] for topic, members in group.subscribers().items()} == {
        "t": ["a"]
    }
