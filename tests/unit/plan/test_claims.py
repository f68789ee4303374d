"""Whose history counts."""

from __future__ import annotations

from kafka_assignors.plan import CONTESTED, NOBODY, Group, resolve
from tests.support.builders import member

TWO = {"t0": 2}


def test_the_highest_generation_wins() -> None:
    """A zombie's old claim counts nothing beside the live owner's."""
    group = Group(
        (member("a", owned={"t0": [0]}, generation=3), member("b", owned={"t0": [0]}, generation=7)), TWO
    )
    assert resolve(group).owner.tolist() == [1, NOBODY]


def test_two_claims_of_one_generation_cancel_out() -> None:
    """And the later member is named, with the one it contradicts."""
    group = Group((member("a", owned={"t0": [0, 1]}), member("b", owned={"t0": [0]})), TWO)
    claims = resolve(group)
    assert claims.owner.tolist() == [NOBODY, 0]
    assert dict(claims.disputed) == {"b": ("a", 1)}


def test_an_older_claim_does_not_fill_the_gap_two_newer_ones_leave() -> None:
    """The newest generation is known to contradict itself; an older one knows no better."""
    group = Group(
        (
            member("a", owned={"t0": [0]}, generation=5),
            member("b", owned={"t0": [0]}, generation=5),
            member("c", owned={"t0": [0]}, generation=4),
        ),
        TWO,
    )
    assert resolve(group).owner.tolist() == [NOBODY, NOBODY]


def test_what_does_not_exist_cannot_be_claimed() -> None:
    """Unknown topics, numbers out of range and negative ones are counted and left out."""
    group = Group((member("a", owned={"t0": [0, 2, -1, 2**31 - 1], "gone": [0]}),), TWO)
    claims = resolve(group)
    assert claims.owner.tolist() == [0, NOBODY]
    assert dict(claims.refused) == {"a": 4}


def test_a_partition_named_twice_is_claimed_once() -> None:
    """A member does not contradict itself."""
    group = Group((member("a", owned={"t0": [0, 0]}),), TWO)
    claims = resolve(group)
    assert claims.owner.tolist() == [0, NOBODY]
    assert not claims.disputed


def test_who_unsubscribed_is_no_owner_but_may_still_hold() -> None:
    """It cannot keep the partition, and nobody else can have it before it let go."""
    group = Group((member("a", ["t1"], {"t0": [0]}, holds=True),), TWO)
    claims = resolve(group)
    assert claims.owner.tolist() == [NOBODY, NOBODY]
    assert claims.holder.tolist() == [0, NOBODY]


def test_a_newer_owner_that_revoked_frees_the_partition_from_older_hands() -> None:
    """The older holder lost it long ago, whatever it believes."""
    group = Group(
        (
            member("a", owned={"t0": [0]}, generation=3, holds=True),
            member("b", owned={"t0": [0]}, generation=3, holds=True),
            member("c", owned={"t0": [0]}, generation=4),
        ),
        TWO,
    )
    claims = resolve(group)
    assert claims.holder.tolist() == [NOBODY, NOBODY]
    assert not claims.holders


def test_all_that_hold_a_contested_partition_are_known() -> None:
    """Three of one generation."""
    group = Group(tuple(member(m, owned={"t0": [0]}, holds=True) for m in "abc"), TWO)
    claims = resolve(group)
    assert claims.holder.tolist() == [CONTESTED, NOBODY]
    assert dict(claims.holders) == {0: frozenset({0, 1, 2})}


def test_a_live_claim_without_a_generation_holds_beside_newer_history() -> None:
    """kafka-python's own cooperative members send none: it may be true, so nobody else gets the partition."""
    group = Group(
        (
            member("a", owned={"t0": [0]}, generation=5),
            member("k", owned={"t0": [0, 1]}, generation=-1, holds=True),
        ),
        TWO,
    )
    claims = resolve(group)
    assert claims.owner.tolist() == [0, 1]
    assert claims.holder.tolist() == [1, 1]


def test_a_live_claim_with_a_generation_goes_before_one_without() -> None:
    group = Group(
        (
            member("a", owned={"t0": [0]}, generation=5, holds=True),
            member("k", owned={"t0": [0]}, generation=-1, holds=True),
        ),
        TWO,
    )
    assert resolve(group).holder.tolist() == [0, NOBODY]
