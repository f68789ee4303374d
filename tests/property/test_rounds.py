"""The cooperative stage: never two owners, never nobody, two rounds at most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import Group, Member, TopicPartition, plan_sticky, resolve, this_round
from tests import oracle
from tests.builders import groups, settled_groups

joining = st.one_of(groups(), settled_groups(), settled_groups(equal=True))


def live_holders(group: Group) -> dict[TopicPartition, set[str]]:
    """Who has a partition in hand: the cooperative members of its newest generation of claims."""
    newest: dict[TopicPartition, int] = {}
    for m in group.members:
        for topic, numbers in m.owned.items():
            for p in numbers:
                tp = TopicPartition(topic, p)
                newest[tp] = max(newest.get(tp, -1), m.generation)
    holders: dict[TopicPartition, set[str]] = {}
    for m in group.members:
        for topic, numbers in m.owned.items():
            for p in numbers:
                if m.holds and m.generation == newest[TopicPartition(topic, p)]:
                    holders.setdefault(TopicPartition(topic, p), set()).add(m.member_id)
    return holders


@given(group=joining)
def test_a_partition_goes_to_nobody_while_another_member_holds_it(group: Group) -> None:
    """KIP-429: first revoked, then assigned."""
    claims = resolve(group)
    given_now, _held = this_round(group, claims, plan_sticky(group, claims))
    holders = live_holders(group)
    for tp, owner in oracle.by_partition(given_now).items():
        assert owner in holders.get(tp, {owner})


@given(group=joining)
def test_what_is_not_at_its_target_is_named(group: Group) -> None:
    """Nothing is lost between the target, what is given now, and what needs another round."""
    claims = resolve(group)
    target = plan_sticky(group, claims)
    given_now, held = this_round(group, claims, target)
    wanted, now = oracle.by_partition(target), oracle.by_partition(given_now)
    late = {TopicPartition(hold.topic, hold.partition) for hold in held}
    assert late == {tp for tp in wanted if now.get(tp) != wanted[tp]}


@given(group=joining)
def test_two_rounds_settle_a_group(group: Group) -> None:
    """After the holders let go the second round gives the rest out, and moves nothing else."""
    claims = resolve(group)
    target = plan_sticky(group, claims)
    first, _held = this_round(group, claims, target)
    again = Group(
        tuple(
            Member(m.member_id, m.topics, first[m.member_id], 9, m.instance_id, holds=True)
            for m in group.members
        ),
        group.topics,
    )
    claims = resolve(again)
    second, held = this_round(again, claims, plan_sticky(again, claims))
    assert not held
    after_first = oracle.by_partition(first)
    after_second = oracle.by_partition(second)
    assert {tp: after_second[tp] for tp in after_first} == after_first
    assert after_second.keys() == oracle.wanted(group).keys()


@given(group=settled_groups(), generation=st.integers(-1, 0), data=st.data())
def test_a_zombie_takes_nothing_from_a_live_owner(group: Group, generation: int, data: st.DataObject) -> None:
    """Claims of an older generation neither win a partition nor keep its owner from it."""
    claims = resolve(group)
    owned = oracle.owners(group)
    stale: dict[str, list[int]] = {}
    for tp in data.draw(st.lists(st.sampled_from(sorted(owned)), unique=True)) if owned else []:
        stale.setdefault(tp.topic, []).append(tp.partition)
    zombie = Member("zombie", frozenset(), stale, generation, holds=True)
    with_zombie = Group((*group.members, zombie), group.topics)
    claims_with = resolve(with_zombie)
    first, held = this_round(group, claims, plan_sticky(group, claims))
    first_with, held_with = this_round(with_zombie, claims_with, plan_sticky(with_zombie, claims_with))
    assert first_with == {**first, "zombie": {}}
    assert held_with == held
