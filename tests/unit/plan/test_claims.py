"""The rules that decide between claims."""

from __future__ import annotations

from kafka_assignors.plan import NO_MEMBER, Claims, Group, Member, resolve
from kafka_assignors.plan.claims import CONTESTED
from tests.support.plan.builders import member


def claims_of(*members: Member) -> Claims:
    """The claims on a topic with two partitions."""
    return resolve(Group(members, {"t0": 2}))


def test_the_highest_generation_wins() -> None:
    """A zombie's old claim does not count against the live owner's."""
    claims = claims_of(
        member("a", owned={"t0": [0]}, generation=3), member("b", owned={"t0": [0]}, generation=7)
    )
    assert claims.owner.tolist() == [1, NO_MEMBER]


def test_two_claims_of_one_generation_cancel_out() -> None:
    """The later member is reported, with the member it contradicts."""
    claims = claims_of(member("a", owned={"t0": [0, 1]}), member("b", owned={"t0": [0]}))
    assert claims.owner.tolist() == [NO_MEMBER, 0]
    assert dict(claims.disputed) == {"b": ("a", 1)}


def test_an_older_claim_does_not_replace_two_contradicting_ones() -> None:
    """The newest generation contradicts itself; an older claim is no better."""
    claims = claims_of(
        member("a", owned={"t0": [0]}, generation=5),
        member("b", owned={"t0": [0]}, generation=5),
        member("c", owned={"t0": [0]}, generation=4),
    )
    assert claims.owner.tolist() == [NO_MEMBER, NO_MEMBER]


def test_claims_on_unknown_partitions_are_refused() -> None:
    """Unknown topics, numbers out of range and negative numbers are counted."""
    claims = claims_of(member("a", owned={"t0": [0, 2, -1, 2**31 - 1], "gone": [0]}))
    assert claims.owner.tolist() == [0, NO_MEMBER]
    assert dict(claims.refused) == {"a": 4}


def test_a_duplicate_claim_of_one_member_counts_once() -> None:
    """A member does not contradict itself."""
    claims = claims_of(member("a", owned={"t0": [0, 0]}))
    assert claims.owner.tolist() == [0, NO_MEMBER]
    assert not claims.disputed


def test_an_unsubscribed_member_is_no_owner_but_may_hold() -> None:
    """It cannot keep the partition, and no other member gets it before it is revoked."""
    claims = claims_of(member("a", ["t1"], {"t0": [0]}, still_owns=True))
    assert claims.owner.tolist() == [NO_MEMBER, NO_MEMBER]
    assert claims.holder.tolist() == [0, NO_MEMBER]


def test_empty_claim_of_an_unknown_topic_is_not_refused() -> None:
    assert claims_of(member("a", owned={"gone": [], "t0": [0]})).refused == {}


def test_a_newer_owner_that_revoked_overrides_older_holders() -> None:
    """The older holders lost the partition long ago."""
    claims = claims_of(
        member("a", owned={"t0": [0]}, generation=3, still_owns=True),
        member("b", owned={"t0": [0]}, generation=3, still_owns=True),
        member("c", owned={"t0": [0]}, generation=4),
    )
    assert claims.holder.tolist() == [NO_MEMBER, NO_MEMBER]
    assert not claims.holders


def test_all_holders_of_a_contested_partition_are_listed() -> None:
    """Three of one generation."""
    claims = claims_of(*(member(m, owned={"t0": [0]}, still_owns=True) for m in "abc"))
    assert claims.holder.tolist() == [CONTESTED, NO_MEMBER]
    assert dict(claims.holders) == {0: frozenset({0, 1, 2})}


def test_a_live_claim_without_a_generation_holds_despite_newer_history() -> None:
    """kafka-python's cooperative members send none.  The claim may be current, so it keeps the partition."""
    claims = claims_of(
        member("a", owned={"t0": [0]}, generation=5),
        member("k", owned={"t0": [0, 1]}, generation=-1, still_owns=True),
    )
    assert claims.owner.tolist() == [0, 1]
    assert claims.holder.tolist() == [1, 1]


def test_a_live_claim_with_a_generation_precedes_one_without() -> None:
    claims = claims_of(
        member("a", owned={"t0": [0]}, generation=5, still_owns=True),
        member("k", owned={"t0": [0]}, generation=-1, still_owns=True),
    )
    assert claims.holder.tolist() == [0, NO_MEMBER]
