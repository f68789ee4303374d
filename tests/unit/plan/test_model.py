"""The group: members, topics, racks and lags."""

from __future__ import annotations

import numpy as np
import pytest

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import NO_MEMBER, UNKNOWN_LAG, Group, Member, listed
from kafka_assignors.plan.model import seniority, shown
from tests.support.plan.builders import member


def test_listed_counts_the_rest() -> None:
    assert listed("abc") == "a, b, c"
    assert listed(range(2000)) == "0, 1, 2 and 1,997 more"
    assert listed([1, 2, 3], 2, name=hex, between="; ", last="or") == "0x1; 0x2 or 1 more"


def test_name_for_a_log_is_printable_and_bounded() -> None:
    assert (shown("m" * 300), shown("m\n")) == ("m" * 300, "'m\\n'")
    assert shown("m" * 30_000) == repr("m" * 300)


def test_members_are_in_order_of_seniority() -> None:
    """Static members first, then instance id, then member id."""
    group = Group((member("b"), member("a"), member("d", instance_id="2"), member("e", instance_id="1")), {})
    assert [m.member_id for m in group.members] == ["e", "d", "a", "b"]
    assert seniority(group.members[0]) < seniority(group.members[2])


def test_topics_are_in_order_of_their_names() -> None:
    """The order of the cluster's metadata does not matter."""
    assert list(Group((), {"b": 1, "a": 1}).topics) == ["a", "b"]


@pytest.mark.parametrize(
    ("members", "topics", "problem"),
    [((member("a"), member("a")), {}, "two members have the same id"), ((), {"t": -1}, "'t'")],
)
def test_invalid_group_is_refused(members: tuple[Member, ...], topics: dict[str, int], problem: str) -> None:
    with pytest.raises(ProblemError, match=problem):
        Group(members, topics)


def test_partitions_are_numbered_topic_by_topic() -> None:
    """By name, then number; an empty topic has no partition."""
    group = Group((), {"b": 2, "a": 1, "c": 0})
    assert [group.at(partition) for partition in range(group.size)] == [("a", 0), ("b", 0), ("b", 1)]
    assert group.first == {"a": 0, "b": 1, "c": 3}


def test_subscribed_is_by_topic_and_member() -> None:
    """A topic that does not exist has no row."""
    group = Group((member("a", ["t", "gone"]), member("b", ["u"]), member("c", ["t", "u"])), {"t": 1, "u": 0})
    assert group.subscribed.tolist() == [[True, False, True], [False, True, True]]


def test_racks_are_compared_as_sets() -> None:
    """Partitions without known racks have the empty set; entries beyond the last partition are ignored."""
    group = Group(
        (member("a", rack="x"), member("b")),
        {"t": 3, "u": 1},
        {"t": [frozenset("xy"), frozenset("yx")], "u": [frozenset("x"), frozenset("z")]},
    )
    by_partition, sets = group.rack_sets
    assert [sets[i] for i in by_partition] == [frozenset("xy"), frozenset("xy"), frozenset(), frozenset("x")]
    assert frozenset("z") not in sets
    assert group.in_racks is not None
    assert group.in_racks[by_partition].tolist() == [
        [True, False],
        [True, False],
        [False, False],
        [True, False],
    ]


def test_partition_without_an_owner_is_near_nothing() -> None:
    """`NO_MEMBER` is also the index of the last member, which is near it."""
    racks = {"t": [frozenset("x"), frozenset("x"), frozenset(), frozenset("x")]}
    group = Group((member("a"), member("b", rack="x")), {"t": 4}, racks)
    near = group.near(np.array([1, 0, 1, NO_MEMBER], np.int32))
    assert near is not None
    assert near.tolist() == [True, False, False, False]


def test_unknown_lag_counts_as_the_mean_of_its_topic() -> None:
    """Topic "a" knows two of four; "b" knows none, so its lag counts as 0."""
    lags = {"a": [10, UNKNOWN_LAG, 31], "gone": [5]}
    group = Group((member("m", ("a", "b")),), {"b": 2, "a": 4}, lags=lags)
    assert group.known_lag.tolist() == [10, -1, 31, -1, -1, -1]
    assert group.lag.tolist() == [10, 20, 31, 20, 0, 0]
    assert group.knows_lag


def test_sums_of_huge_lags_do_not_overflow() -> None:
    group = Group((), {"a": 3}, lags={"a": [2**63 - 1] * 3})
    assert 2**61 < int(group.lag.sum()) < 2**63


@pytest.mark.parametrize("lags", [{}, {"a": []}, {"gone": [1]}, {"a": [UNKNOWN_LAG]}])
def test_knows_lag_is_false_without_known_lag(lags: dict[str, list[int]]) -> None:
    assert not Group((), {"a": 3}, lags=lags).knows_lag
