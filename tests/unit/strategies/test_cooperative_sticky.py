"""The two-bounce upgrade (KIP-726, KIP-429) and the rounds, seen from the leader."""

from __future__ import annotations

import pytest
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as KafkaPythons
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConfigurationError

from kafka_assignors import ConfigurationError, CooperativeStickyAssignor, RangeAssignor
from kafka_assignors.assignor.convert import encode_subscription
from kafka_assignors.wire import cooperative_user_data
from tests.support.group.joining import Plan, cluster, every, joined, own, owner_of, plan_of, raw
from tests.unit.conftest import MakeConsumer

TOPICS = {"t": 24}


def cooperative(owned: dict[str, list[int]], generation: int) -> object:
    return encode_subscription(["t"], cooperative_user_data.encode(generation), owned, generation, None)


def eager(owned: dict[str, list[int]], generation: int) -> object:
    return encode_subscription(["t"], cooperative_user_data.encode(generation, owned), {}, generation, None)


def assign(leader: CooperativeStickyAssignor, subscriptions: dict[str, object]) -> Plan:
    members = [joined(name, subscription) for name, subscription in subscriptions.items()]
    return plan_of(leader.assign(cluster(TOPICS), members))


EIGHT_EACH = {m: {"t": list(range(8 * i, 8 * i + 8))} for i, m in enumerate("abc")}


def test_upgrading_from_lists_the_new_strategy_first() -> None:
    assert CooperativeStickyAssignor.upgrading_from(RangeAssignor) == [
        CooperativeStickyAssignor,
        RangeAssignor,
    ]
    configured = CooperativeStickyAssignor.configured(rack="a")
    assert configured.upgrading_from(RangePartitionAssignor) == [configured, RangePartitionAssignor]


@pytest.mark.parametrize("eager", [(), (KafkaPythons,)])
def test_upgrading_from_takes_only_eager_strategies(eager: tuple[type, ...]) -> None:
    with pytest.raises(ConfigurationError, match="upgrading_from"):
        CooperativeStickyAssignor.upgrading_from(*eager)
    with pytest.raises(ConfigurationError, match="RangeAssignor is eager"):
        RangeAssignor.upgrading_from(RangeAssignor)


def test_consumer_with_the_first_bounce_list_runs_eager(consumer: MakeConsumer) -> None:
    """kafka-python's own cooperative strategy is refused here."""
    consumer(*CooperativeStickyAssignor.upgrading_from(RangeAssignor))
    with pytest.raises(KafkaConfigurationError):
        consumer(KafkaPythons, RangeAssignor)


def test_member_that_joins_during_the_bounce_needs_no_second_round() -> None:
    """All members run eager and request no second round, so one must suffice (6 of 24)."""
    group = {m: eager(owned, 4) for m, owned in EIGHT_EACH.items()}
    plan = assign(CooperativeStickyAssignor(), {**group, "d": eager({}, -1)})
    assert owner_of(plan).keys() == every(TOPICS)
    assert [len(plan[m]["t"]) for m in "abcd"] == [6, 6, 6, 6]
    assert all(set(plan[m]["t"]) <= set(EIGHT_EACH[m]["t"]) for m in "abc"), "18 of 18 stay where they were"


def test_eager_and_cooperative_members_share_a_group() -> None:
    """KIP-726: partitions of eager members are free at once, those of cooperative members after a round."""
    group = {
        "a": cooperative(EIGHT_EACH["a"], 4),
        "b": cooperative(EIGHT_EACH["b"], 4),
        "c": eager(EIGHT_EACH["c"], 4),
    }
    first = assign(CooperativeStickyAssignor(), {**group, "d": eager({}, -1)})
    assert [len(first[m]["t"]) for m in "abc"] == [6, 6, 6]
    assert len(first["d"]["t"]) == 2, "c's two"
    again = {m: cooperative(first[m], 5) for m in "ab"} | {m: eager(first[m], 5) for m in "cd"}
    second = assign(CooperativeStickyAssignor(), again)
    assert owner_of(second).keys() == every(TOPICS)
    assert all(set(first[m]["t"]) <= set(second[m]["t"]) for m in "abcd")


def test_cooperative_join_takes_two_rounds_and_six_moves() -> None:
    group = {m: cooperative(owned, 4) for m, owned in EIGHT_EACH.items()}
    first = assign(CooperativeStickyAssignor(), {**group, "d": cooperative({}, -1)})
    assert [len(first[m].get("t", [])) for m in "abcd"] == [6, 6, 6, 0]
    second = assign(CooperativeStickyAssignor(), {m: cooperative(first[m], 5) for m in "abcd"})
    assert [len(second[m]["t"]) for m in "abcd"] == [6, 6, 6, 6]


def test_zombie_gains_nothing_by_old_claims() -> None:
    """It claims from generation 2 partitions that a and b own since 4."""
    live = {"a": {"t": list(range(12))}, "b": {"t": list(range(12, 24))}}
    group: dict[str, object] = {m: cooperative(owned, 4) for m, owned in live.items()}
    plan = assign(CooperativeStickyAssignor(), {**group, "z": cooperative({"t": list(range(24))}, 2)})
    assert plan["z"] == {}
    assert [len(plan[m]["t"]) for m in "ab"] == [8, 8]


def test_member_that_never_revokes_a_claim_keeps_the_partition(consumer: MakeConsumer) -> None:
    """It revokes nothing, so it requests no second round; the leader does, a limited number of times.

    kafka-python's own cooperative members do this, without a generation, after a lost membership.
    """
    liar = raw(["t"], b"", {"t": list(range(24))}, version=1)
    leader = consumer(CooperativeStickyAssignor)
    (assignor,) = leader._coordinator._assignors.values()
    asked: list[float] = []
    assignor._access.request_rejoin_after = asked.append
    owned, rounds = [], []
    for _ in range(8):
        plan = assign(assignor, {"a": liar, "b": cooperative({}, -1)})
        own(assignor, plan["b"], 5)
        owned.append(len(owner_of(plan)))
        rounds.append(len(asked))
    assert owned == [12, 12, 24, 12, 12, 24, 24, 24]
    assert rounds == [1, 2, 3, 4, 5, 5, 5, 5]
