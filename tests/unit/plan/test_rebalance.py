"""One round of a rebalance, and whether another one follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kafka_assignors.plan import Assignment, Claims, Group, Member, plan_sticky, rebalance
from kafka_assignors.plan.model import Ownership

TOPICS = {"t": 2}


def member(
    name: str, owned: Mapping[str, Sequence[int]], generation: int = 3, *, still_owns: bool = True
) -> Member:
    return Member(name, frozenset({"t", "deleted"}), owned, generation, still_owns=still_owns)


A, B = member("a", {"t": [0]}), member("b", {"t": [1]})
SAME: dict[str, Ownership] = {"a": {"t": [0]}, "b": {"t": [1]}}


@pytest.mark.parametrize(
    ("members", "target", "expected"),
    [
        pytest.param((A, B), SAME, False, id="no move"),
        pytest.param((A, member("b", {})), SAME, False, id="a free partition"),
        pytest.param((A, B), {"a": {"t": [1]}, "b": {"t": [0]}}, True, id="moves"),
        pytest.param((A, B), {"a": {"t": [0]}}, True, id="revoked without a new owner"),
        pytest.param((member("a", {"t": [0], "deleted": [0]}), B), SAME, True, id="a deleted topic"),
        pytest.param((A, member("b", {"t": [0, 1]})), SAME, True, id="contested"),
        pytest.param((A, member("b", {"t": [0, 1]}, 2)), SAME, True, id="an older claim"),
        pytest.param(
            (A, member("b", {"t": [0]}, still_owns=False)), SAME, False, id="history of an eager member"
        ),
    ],
)
def test_second_round_follows_if_a_member_revokes_a_partition(
    members: tuple[Member, ...], target: Mapping[str, Ownership], expected: bool
) -> None:
    group = Group(members, TOPICS)
    planned = rebalance(group, lambda group, _claims: Assignment.of(group, target))
    assert planned.has_second_round is expected


def test_unlisted_partitions_that_stay_are_not_revoked() -> None:
    group = Group((member("a", {"t": [0, 1], "deleted": [0]}),), TOPICS)

    def keep(group: Group, claims: Claims) -> Assignment:
        return Assignment(group, claims.owner)

    planned = rebalance(group, keep)
    assert planned.has_second_round
    stays = Assignment(group, planned.assigned.owners, {"a": {"deleted": [0]}})
    assert not planned._replace(assigned=stays).has_second_round


def test_claimant_that_keeps_a_contested_partition_gains_no_other() -> None:
    """The plan alone gives t-0 to a and t-1 to b, but b keeps t-0, so t-1 would move in the second round."""
    claimed = {"t": [0]}
    planned = rebalance(
        Group((member("a", {}), member("b", claimed), member("c", claimed)), TOPICS), plan_sticky
    )
    assert dict(planned.assigned) == {"a": {"t": [1]}, "b": {"t": [0]}, "c": {}}
    assert not planned.holds
