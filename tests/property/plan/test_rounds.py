"""The cooperative stage: a partition never has two owners, and two rounds settle a group."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import (
    Group,
    Member,
    TopicPartition,
    plan_sticky,
    rebalance,
    resolve,
    this_round,
)
from tests.support.plan import oracle
from tests.support.plan.builders import TOPICS, groups, next_generation, settled_groups

joining = st.one_of(groups(), settled_groups(), settled_groups(equal=True))


def live_holders(group: Group) -> dict[TopicPartition, set[str]]:
    """Cooperative members that may hold a partition: with the newest claim, or without a generation."""
    claims: dict[TopicPartition, list[Member]] = {}
    for m in group.members:
        for topic, numbers in m.owned.items():
            for p in set(numbers):
                claims.setdefault(TopicPartition(topic, p), []).append(m)
    holders = {}
    for tp, members in claims.items():
        newest = max(m.generation for m in members)
        current = {m.member_id for m in members if m.still_owns and m.generation == newest}
        holders[tp] = current or {m.member_id for m in members if m.still_owns and m.generation == -1}
    return {tp: members for tp, members in holders.items() if members}


@given(group=joining)
def test_partition_is_not_assigned_while_another_member_holds_it(group: Group) -> None:
    """KIP-429: a partition is first revoked, then assigned."""
    claims = resolve(group)
    given_now, _held = this_round(group, claims, plan_sticky(group, claims))
    holders = live_holders(group)
    for tp, owner in oracle.by_partition(given_now).items():
        assert owner in holders.get(tp, {owner})


@given(group=joining)
def test_holds_list_exactly_the_partitions_not_at_their_target(group: Group) -> None:
    """Each partition of the target is either given now or listed as a hold."""
    claims = resolve(group)
    target = plan_sticky(group, claims)
    given_now, held = this_round(group, claims, target)
    wanted, now = oracle.by_partition(target), oracle.by_partition(given_now)
    late = {TopicPartition(hold.topic, hold.partition) for hold in held}
    assert late == {tp for tp in wanted if now.get(tp) != wanted[tp]}


@given(group=joining)
def test_two_rounds_settle_a_group_and_three_a_contested_one(group: Group) -> None:
    """After the holders revoke, the second round gives the rest and moves nothing else.

    A contested partition stays with one holder in the first round, which may then own too many.
    """
    claims = resolve(group)
    is_contested = bool(claims.holders)
    target = plan_sticky(group, claims)
    first, _held = this_round(group, claims, target)
    last = first
    for generation in (9, 10) if is_contested else (9,):
        again = next_generation(group, last, generation, still_owns=True)
        claims = resolve(again)
        last, held = this_round(again, claims, plan_sticky(again, claims))
    assert not held
    after_first = oracle.by_partition(first)
    after_last = oracle.by_partition(last)
    assert is_contested or after_first.items() <= after_last.items()
    assert after_last.keys() == oracle.wanted(group).keys()


@given(
    claimants=st.lists(st.frozensets(st.integers(1, 3), max_size=2), min_size=2, max_size=6),
    newcomers=st.integers(0, 2),
)
def test_partition_gained_beside_contested_ones_does_not_move_again(
    claimants: list[frozenset[int]], newcomers: int
) -> None:
    """A claimant that keeps a contested partition gains none that the second round takes from it."""
    claims = [
        [p for p, members in enumerate(claimants) if member - newcomers in members]
        for member in range(1, newcomers + 4)
    ]
    members = tuple(
        Member(f"m{i}", frozenset({"t"}), {"t": owned}, generation=8, still_owns=True)
        for i, owned in enumerate(claims)
    )
    first = rebalance(Group(members, {"t": len(claimants)}), plan_sticky)
    again = rebalance(next_generation(first.group, first.assigned, 9, still_owns=True), plan_sticky)
    target = oracle.by_partition(again.target)
    for tp, owner in oracle.by_partition(first.assigned).items():
        assert target[tp] == owner or tp.partition in claims[int(owner[1:])]


@given(group=settled_groups(), topics=st.frozensets(st.sampled_from(TOPICS)), data=st.data())
def test_zombie_is_planned_as_a_new_member(group: Group, topics: frozenset[str], data: st.DataObject) -> None:
    """Claims of an older generation neither win an owned partition nor hold it back."""
    owned = sorted(oracle.owners(group))
    stale: dict[str, list[int]] = {}
    for tp in data.draw(st.lists(st.sampled_from(owned), unique=True)) if owned else []:
        stale.setdefault(tp.topic, []).append(tp.partition)

    def first_round(newcomer: Member) -> object:
        joined = Group((*group.members, newcomer), group.topics, group.racks)
        claims = resolve(joined)
        return this_round(joined, claims, plan_sticky(joined, claims))

    zombie = Member("zombie", topics, stale, generation=0, still_owns=True)
    assert first_round(zombie) == first_round(Member("zombie", topics))


@given(group=joining)
def test_overdue_holds_end_with_a_subscribed_holder(group: Group) -> None:
    """When all holds are overdue every partition has an owner, and no one gets another holder's partition."""
    claims = resolve(group)
    target = plan_sticky(group, claims)
    _given, held = this_round(group, claims, target)
    given_now, _held = this_round(group, claims, target, set(held))
    owner_of = oracle.by_partition(given_now)
    assert owner_of.keys() == oracle.wanted(group).keys()
    subscribed = {m.member_id: m.topics for m in group.members}
    for tp, owner in owner_of.items():
        keepers = {m for m in live_holders(group).get(tp, set()) if tp.topic in subscribed[m]}
        assert not keepers or owner in keepers
