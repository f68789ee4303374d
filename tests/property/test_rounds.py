"""The cooperative stage: never two owners, never nobody, two rounds at most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import Group, Member, TopicPartition, plan_sticky, resolve, this_round
from tests.support import oracle
from tests.support.builders import TOPICS, groups, next_generation, settled_groups

joining = st.one_of(groups(), settled_groups(), settled_groups(equal=True))


def live_holders(group: Group) -> dict[TopicPartition, set[str]]:
    """Who may have a partition in hand: cooperative members whose claim is the newest, or has no date."""
    claims: dict[TopicPartition, list[Member]] = {}
    for m in group.members:
        for topic, numbers in m.owned.items():
            for p in set(numbers):
                claims.setdefault(TopicPartition(topic, p), []).append(m)
    holders = {}
    for tp, members in claims.items():
        newest = max(m.generation for m in members)
        dated = {m.member_id for m in members if m.holds and m.generation == newest}
        holders[tp] = dated or {m.member_id for m in members if m.holds and m.generation == -1}
    return {tp: who for tp, who in holders.items() if who}


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
    again = next_generation(group, first, 9, holds=True)
    claims = resolve(again)
    second, held = this_round(again, claims, plan_sticky(again, claims))
    assert not held
    after_first = oracle.by_partition(first)
    after_second = oracle.by_partition(second)
    assert {tp: after_second[tp] for tp in after_first} == after_first
    assert after_second.keys() == oracle.wanted(group).keys()


@given(group=settled_groups(), topics=st.frozensets(st.sampled_from(TOPICS)), data=st.data())
def test_a_zombie_is_as_good_as_new(group: Group, topics: frozenset[str], data: st.DataObject) -> None:
    """Claims of an older generation on what has an owner neither win it nor keep it from anybody."""
    owned = sorted(oracle.owners(group))
    stale: dict[str, list[int]] = {}
    for tp in data.draw(st.lists(st.sampled_from(owned), unique=True)) if owned else []:
        stale.setdefault(tp.topic, []).append(tp.partition)

    def first_round(newcomer: Member) -> object:
        joined = Group((*group.members, newcomer), group.topics, group.racks)
        claims = resolve(joined)
        return this_round(joined, claims, plan_sticky(joined, claims))

    zombie = Member("zombie", topics, stale, generation=0, holds=True)
    assert first_round(zombie) == first_round(Member("zombie", topics))


@given(group=joining)
def test_whoever_goes_on_holding_ends_with_it(group: Group) -> None:
    """When all holds are overdue everything has an owner, and nobody gets what another one may have."""
    claims = resolve(group)
    target = plan_sticky(group, claims)
    _given, held = this_round(group, claims, target)
    given_now, _held = this_round(group, claims, target, set(held))
    owner_of = oracle.by_partition(given_now)
    assert owner_of.keys() == oracle.wanted(group).keys()
    subscribed = {m.member_id: m.topics for m in group.members}
    for tp, owner in owner_of.items():
        able = {who for who in live_holders(group).get(tp, set()) if tp.topic in subscribed[who]}
        assert not able or owner in able
