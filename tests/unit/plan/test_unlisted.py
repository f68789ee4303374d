"""Claims on partitions that the metadata does not list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import Group, Member, keep_owned, resolve, unlisted_owners
from kafka_assignors.plan.unlisted import MOST_CLAIMS, PARTITION_NUMBER_LIMIT
from tests.support.plan.builders import member

KNOWN = {"t0": 2}
BOTH = ("t0", "new")


def kept(*members: Member, topics: dict[str, int] | None = None) -> dict[str, dict[str, list[int]]]:
    group = Group(members, KNOWN if topics is None else topics)
    return unlisted_owners(group, resolve(group))


def test_unknown_topic_and_new_partitions_stay_with_their_owners() -> None:
    owned = {"t0": [1, 3], "new": [4, 0]}
    assert kept(member("a", BOTH, owned), member("b", BOTH, {"new": [2]})) == {
        "a": {"new": [0, 4], "t0": [3]},
        "b": {"new": [2]},
    }


def test_claims_that_the_metadata_lists_are_left_out() -> None:
    assert kept(member("a", BOTH, {"t0": [0, 1]})) == {}


def test_newest_generation_wins() -> None:
    old, new = member("a", BOTH, {"new": [0]}, generation=3), member("b", BOTH, {"new": [0]}, generation=4)
    assert kept(old, new) == {"b": {"new": [0]}}


def test_claims_of_one_generation_cancel_out() -> None:
    assert kept(member("a", BOTH, {"new": [0, 1]}), member("b", BOTH, {"new": [0]})) == {"a": {"new": [1]}}


def test_partition_that_another_member_still_holds_is_not_given() -> None:
    """A live claim without a generation may be current."""
    owner = member("a", BOTH, {"new": [0]}, generation=5)
    assert kept(owner, member("k", BOTH, {"new": [0]}, generation=-1, still_owns=True)) == {}


@pytest.mark.parametrize(
    "claim",
    [
        {"t0": [-1, PARTITION_NUMBER_LIMIT, 2**31 - 1]},
        {"other": [0]},
        {"no such\nname": [0]},
        {"x" * 250: [0]},
        {".": [0]},
        {"..": [0]},
        {"new": range(MOST_CLAIMS + 1)},
    ],
    ids=["number", "not subscribed", "name", "long name", "dot", "two dots", "too many"],
)
def test_impossible_claims_are_ignored(claim: dict[str, list[int]]) -> None:
    topics = ("t0", "new", "no such\nname", "x" * 250, ".", "..")
    assert kept(member("liar", topics, claim), member("b", BOTH, {"new": [1]})) == {"b": {"new": [1]}}


def test_only_free_partitions_are_dealt_and_unlisted_ones_count() -> None:
    """The member with the fewest partitions gets the free one; no partition moves for balance."""
    members = (
        member("a", ["t0"], {"t0": [0, 1, 2]}),
        member("b", BOTH, {"new": [0, 1]}),
        member("c", ["t0"], {"t0": [3]}),
        member("d", ["new"]),
    )
    group = Group(members, {"t0": 6})
    claims = resolve(group)
    plan = keep_owned(group, claims, unlisted_owners(group, claims))
    assert plan == {"a": {"t0": [0, 1, 2]}, "b": {"t0": [5]}, "c": {"t0": [3, 4]}, "d": {}}


def test_topic_without_subscribers_stays_without_an_owner() -> None:
    group = Group((member("a", ["t0"]),), {"t0": 1, "u": 2})
    assert keep_owned(group, resolve(group), {}) == {"a": {"t0": [0]}}


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=6), free=st.integers(1, 20))
def test_free_partitions_go_one_by_one_to_the_member_with_the_fewest(counts: list[int], free: int) -> None:
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    members = tuple(
        member(f"m{i}", ("t0",), {"t0": list(range(first, first + count))}, generation=1)
        for i, (first, count) in enumerate(zip(firsts, counts, strict=True))
    )
    group = Group(members, {"t0": sum(counts) + free})
    expected = {each.member_id: list(each.owned.get("t0", ())) for each in members}
    for partition in range(sum(counts), sum(counts) + free):
        min(expected.values(), key=len).append(partition)
    plan = keep_owned(group, resolve(group), {})
    assert {name: list(plan[name].get("t0", ())) for name in expected} == expected
