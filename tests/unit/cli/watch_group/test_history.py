"""The rebalances between snapshots of a group: causes, moves, and what an observer cannot know."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.cli.watch_group.history import (
    MoveReason,
    RebalanceHistory,
    SeenMove,
    SeenRebalance,
    Snapshot,
    owner_names,
)
from kafka_assignors.plan import TopicPartition
from tests.unit.cli.watch_group.watched import (
    FIRST_ROUND,
    START,
    THREE,
    TOPICS,
    TWO,
    W1,
    W2,
    W3,
    member,
    snapshot,
    tps,
)


def rebalances(*snapshots: Snapshot) -> list[SeenRebalance]:
    history = RebalanceHistory()
    for view in snapshots:
        history.add(view)
    return list(history.rebalances)


def only(*snapshots: Snapshot) -> SeenRebalance:
    (rebalance,) = rebalances(*snapshots)
    return rebalance


def causes(rebalance: SeenRebalance) -> list[str]:
    return [str(cause) for cause in rebalance.causes]


def reasons(rebalance: SeenRebalance) -> dict[str, MoveReason]:
    return {f"{move.tp.topic}-{move.tp.partition}": move.why for move in rebalance.moves}


# --- when ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "views",
    [
        [snapshot(0, *TWO)],
        [snapshot(0, *TWO), snapshot(1, *TWO)],
        [snapshot(0, state="Empty"), snapshot(1, state="Empty")],
        [snapshot(0, *TWO, state="PreparingRebalance"), snapshot(1, *TWO)],
    ],
    ids=["first", "stable", "empty", "began before the view"],
)
def test_unchanged_group_has_no_rebalance(views: list[Snapshot]) -> None:
    """A rebalance that began before the view is not reported, because the group before it is unknown."""
    assert rebalances(*views) == []


def test_rebalance_under_way_is_reported_when_the_group_is_stable_again() -> None:
    history = RebalanceHistory()
    history.add(snapshot(0, *TWO))
    assert history.add(snapshot(1, *TWO, state="PreparingRebalance")) is None
    assert history.add(snapshot(2, *TWO, state="CompletingRebalance")) is None
    assert history.rebalancing_s == START + 1
    assert history.owners == owner_names(snapshot(0, *TWO).group)
    rebalance = history.add(snapshot(3, *TWO))
    assert rebalance is not None
    assert (rebalance.after_s, rebalance.began_s, rebalance.time_s) == (START, START + 1, START + 3)
    assert history.rebalancing_s is None


def test_rebalance_between_two_looks_has_no_begin_and_a_number_of_generations() -> None:
    rebalance = only(snapshot(0, *TWO), snapshot(1, *THREE))
    assert (rebalance.began_s, rebalance.generations) == (None, 2)
    no_reports = [replace(m, generation=-1) for m in THREE]
    assert only(snapshot(0, *TWO), snapshot(1, *no_reports)).generations is None


# --- why -----------------------------------------------------------------------------------------------


def test_join_and_the_second_round_of_a_cooperative_group() -> None:
    first, second = rebalances(snapshot(0, *TWO), snapshot(1, *FIRST_ROUND), snapshot(2, *THREE))
    assert causes(first) == [f"joined ({W3})"]
    assert reasons(first) == {"orders-1": MoveReason.REVOKED, "orders-3": MoveReason.REVOKED}
    assert causes(second) == ["second-round"]
    assert second.moves == (
        SeenMove(TopicPartition("orders", 1), W1, W3, MoveReason.HELD_BACK),
        SeenMove(TopicPartition("orders", 3), W2, W3, MoveReason.HELD_BACK),
    )


def test_newcomer_that_knows_an_old_generation_has_rejoined() -> None:
    back = replace(THREE[2], generation=3)
    assert causes(only(snapshot(0, *TWO), snapshot(2, *THREE[:2], back))) == [f"rejoined ({W3})"]


def test_newcomer_that_was_in_an_unseen_round_has_joined_and_got_partitions() -> None:
    rebalance = only(snapshot(0, *TWO), snapshot(1, *THREE))
    assert causes(rebalance) == [f"joined ({W3})"]
    assert reasons(rebalance) == {"orders-1": MoveReason.JOINED, "orders-3": MoveReason.JOINED}


def test_last_member_leaves_partitions_without_an_owner() -> None:
    rebalance = only(snapshot(0, *TWO), snapshot(1, state="Empty"))
    assert causes(rebalance) == [f"gone ({W1}, {W2})"]
    assert {move.new for move in rebalance.moves} == {None}


def test_changed_subscription_is_an_event() -> None:
    less = replace(TWO[0], topics=frozenset({"orders"}), owned=tps("orders-0", "orders-1"))
    more = replace(TWO[1], owned=(*TWO[1].owned, *tps("payments-0")))
    rebalance = only(snapshot(0, *TWO), snapshot(1, less, more))
    assert causes(rebalance) == [f"subscription ({W1}: -payments)"]
    assert reasons(rebalance) == {"payments-0": MoveReason.UNSUBSCRIBED}


def test_topic_that_grew_before_the_rebalance_is_its_cause() -> None:
    grown = {**TOPICS, "payments": 3}
    more = replace(TWO[0], owned=(*TWO[0].owned, *tps("payments-2")), generation=4)
    rebalance = only(
        snapshot(0, *TWO),
        snapshot(1, *TWO, topics=grown),  # the members notice minutes later
        snapshot(2, more, replace(TWO[1], generation=4), topics=grown),
    )
    assert causes(rebalance) == ["topic-grew (payments: 2 to 3)"]
    assert reasons(rebalance) == {"payments-2": MoveReason.NEW_PARTITION}


def test_old_partitions_of_a_topic_that_members_begin_to_read_are_not_new() -> None:
    """Of a topic without subscribers, an observer does not know the partitions."""
    started = only(snapshot(0, strategy="", topics={}), snapshot(1, *TWO))
    assert set(reasons(started).values()) == {MoveReason.NO_OWNER}
    before = member(W1, "orders-0", topics=["orders"])
    after = member(W1, "orders-0", "payments-0")
    subscribed = only(snapshot(0, before, topics={"orders": 1}), snapshot(1, after))
    assert reasons(subscribed) == {"payments-0": MoveReason.NO_OWNER}
    waiting = replace(after, owned=before.owned)
    created = only(snapshot(0, waiting, topics={"orders": 1}), snapshot(1, after))
    assert reasons(created) == {"payments-0": MoveReason.NEW_PARTITION}


def test_topic_without_an_answer_keeps_its_partition_count() -> None:
    unknown = {"orders": None, "payments": 2}
    later = [replace(m, generation=4) for m in TWO]
    assert causes(only(snapshot(0, *TWO), snapshot(1, *later, topics=unknown))) == ["unknown"]


def test_static_member_that_comes_back_keeps_its_name_and_its_partitions() -> None:
    before, after = (member(f"a-{n}", "orders-0", instance="a") for n in (1, 2))
    rebalance = only(snapshot(0, before), snapshot(1, after))
    assert causes(rebalance) == ["restarted (a)"]
    assert (rebalance.moves, rebalance.is_certain) == ((), False)


def test_restart_during_a_rebalance_is_a_rebalance() -> None:
    before, after = (member(f"a-{n}", "orders-0", instance="a") for n in (1, 2))
    views = snapshot(0, before), snapshot(1, after, state="PreparingRebalance"), snapshot(2, after)
    assert only(*views).is_certain


def test_moves_of_unchanged_members_have_an_unknown_cause() -> None:
    """Such as skew: the broker does not describe the leader's requests."""
    rebalance = only(
        snapshot(0, *TWO),
        snapshot(1, replace(TWO[0], owned=TWO[1].owned), replace(TWO[1], owned=TWO[0].owned)),
    )
    assert causes(rebalance) == ["unknown"]
    assert set(reasons(rebalance).values()) == {MoveReason.STRATEGY}


# --- laws ----------------------------------------------------------------------------------------------

STATES = st.sampled_from(["Stable", "Stable", "Empty", "PreparingRebalance", "CompletingRebalance"])


@st.composite
def groups(draw: st.DrawFn, at_s: int) -> Snapshot:
    """Any members of a small population, with any partitions; a static one has new ids."""
    name_of = st.sampled_from(["m1", "m2", "m3", "static"])
    names = draw(st.sets(name_of))
    owner_of = draw(st.dictionaries(st.sampled_from(tps(*(f"orders-{p}" for p in range(5)))), name_of))
    members = []
    for name in sorted(names):
        owned = [f"orders-{tp.partition}" for tp, owner in owner_of.items() if owner == name]
        is_static = name == "static"
        member_id = f"{name}-{draw(st.integers(0, 2))}" if is_static else name
        topics = draw(st.sampled_from([["orders"], ["orders", "payments"], []]))
        instance, generation = name if is_static else None, draw(st.integers(-1, 3))
        members.append(member(member_id, *owned, instance=instance, topics=topics, generation=generation))
    counts: dict[str, int | None] = draw(
        st.sampled_from([{"orders": 4}, {"orders": 5, "payments": 1}, {"orders": None}, {}])
    )
    return snapshot(at_s, *members, state=draw(STATES), topics=counts)


@given(
    st.lists(st.integers(), min_size=1, max_size=8).flatmap(
        lambda xs: st.tuples(*(groups(i) for i in range(len(xs))))
    )
)
def test_rebalances_applied_to_the_first_group_give_the_last(views: tuple[Snapshot, ...]) -> None:
    history = RebalanceHistory()
    owners: dict[TopicPartition, str] = {}
    is_first = True
    for view in views:
        rebalance = history.add(view)
        if not view.is_stable:
            assert rebalance is None
            continue
        if is_first:
            owners, is_first = owner_names(view.group), False
        elif rebalance is not None:
            assert rebalance.causes
            for move in rebalance.moves:
                assert owners.get(move.tp) != move.new
                assert owners.get(move.tp) in (move.old, None)
                owners.pop(move.tp, None)
                owners |= {} if move.new is None else {move.tp: move.new}
        assert owners == owner_names(view.group) == history.owners
