"""A leader with stale metadata, through kafka-python's own ``_perform_assignment``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.future import Future
from kafka.protocol.consumer.group import JoinGroupResponse

from kafka_assignors import (
    Assignor,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    FairestStickyAssignor,
    RangeAssignor,
    StickyAssignor,
)
from kafka_assignors.assignor import convert
from kafka_assignors.plan import Ownership
from kafka_assignors.wire import sticky_user_data
from tests.support.group.joining import Plan, answer, every, own, owner_of, plan_of, raw
from tests.support.logged import warnings
from tests.unit.conftest import MakeConsumer

WITH_HISTORY = [
    StickyAssignor,
    FairestStickyAssignor,
    CooperativeStickyAssignor,
    CooperativeLagAwareAssignor.configured(lag_source=lambda partitions: dict.fromkeys(partitions, 0)),
]
with_history = pytest.mark.parametrize("kind", WITH_HISTORY, ids=lambda kind: kind.name)
Owned = Mapping[str, Sequence[int]]
LIVE = {"a": {"t": [0, 1, 2]}, "b": {"t": [3, 4], "u": [0, 1, 2, 3]}}


class Leader:
    """A consumer that leads one round after the other; the test answers its metadata requests."""

    def __init__(self, made: Any) -> None:
        self.coordinator = made._coordinator
        self.name, self.assignor = next(iter(self.coordinator._assignors.items()))
        made.subscribe(["t"])
        self.coordinator._joined_subscription = {"t"}
        self.coordinator.rejoin_needed = False

    @property
    def waits(self) -> bool:
        """Whether it will join again for fresh metadata."""
        return bool(self.assignor._metadata_wait.is_waiting)

    def knows(self, topics: Mapping[str, int]) -> None:
        """Update the metadata."""
        cluster = self.coordinator._cluster
        before = cluster._last_successful_refresh_ms
        while cluster._last_successful_refresh_ms == before:  # the clock may tick slowly
            cluster.update_metadata(answer(topics))

    def plans(self, members: Mapping[str, object], generation: int = 7) -> Plan:
        """It leads a round, and the plan reaches it."""
        joining = [
            JoinGroupResponse.JoinGroupResponseMember(member_id=name, metadata=metadata.encode())  # type: ignore[attr-defined]
            for name, metadata in members.items()
        ]
        self.coordinator._generation = Generation(generation, "leader", self.name)
        plan = plan_of(self.coordinator._perform_assignment("leader", self.name, joining))
        own(self.assignor, plan["leader"], generation)
        return plan


MakeLeader = Callable[[type], Leader]


@pytest.fixture
def leader(consumer: MakeConsumer) -> MakeLeader:
    return lambda kind: Leader(consumer(kind))


def joins(kind: type[Assignor], topics: str, owned: Owned | None = None, generation: int = 6) -> object:
    """The subscription of a member with this last assignment."""
    assignor = kind()
    if owned is not None:
        own(assignor, owned, generation)
    return assignor.metadata(topics)


def group(kind: type[Assignor]) -> dict[str, object]:
    """Two members with partitions of both topics, and a leader that has just come."""
    return {
        "leader": joins(kind, "t"),
        "a": joins(kind, "tu", LIVE["a"]),
        "b": joins(kind, "tu", LIVE["b"]),
    }


@with_history
@pytest.mark.parametrize("known", [{"t": 5}, {"t": 2, "u": 1}, {}], ids=["no topic", "old counts", "nothing"])
def test_leader_with_old_metadata_keeps_owned_partitions(
    kind: type[Assignor],
    known: dict[str, int],
    leader: MakeLeader,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It takes no partition from its owner, does not complain, and joins again."""
    led = leader(kind)
    led.knows(known)
    with caplog.at_level(logging.INFO, logger="kafka_assignors"):
        assert led.plans(group(kind)) == {"leader": {}, **LIVE}
    assert "owned partitions; members keep all their partitions for now" in caplog.text
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING and r.name == "kafka_assignors"]
    assert led.waits


@with_history
def test_full_plan_when_the_metadata_has_come(kind: type[Assignor], leader: MakeLeader) -> None:
    """The update asks for the next round, which is planned as if the metadata had always been there."""
    led = leader(kind)
    led.knows({"t": 5})
    led.plans(group(kind), 7)
    assert not led.coordinator.rejoin_needed
    led.knows({"t": 5, "u": 4})
    assert led.coordinator.rejoin_needed
    plan = led.plans(group(kind), 8)
    assert not led.waits
    fresh = leader(kind)
    fresh.knows({"t": 5, "u": 4})
    assert plan == fresh.plans(group(kind), 8)


@with_history
def test_leader_that_planned_all_topics_does_not_join_again(kind: type[Assignor], leader: MakeLeader) -> None:
    """An update during its join counts only its own topics: kafka-python forgets those of the others."""
    led, listed = leader(kind), {"t": 5, "u": 4}
    led.knows(listed)
    led.plans(group(kind), 7)
    led.coordinator._subscription.reset_group_subscription()
    led.knows(listed)
    led.plans(group(kind), 8)
    led.knows(listed)
    assert not led.coordinator.need_rejoin()
    led.knows(listed | {"u": 5})
    assert led.coordinator.need_rejoin()


@pytest.mark.parametrize("kind", [RangeAssignor, CooperativeStickyAssignor], ids=lambda kind: kind.name)
def test_leader_asks_again_after_an_update_that_began_before_its_plan(
    kind: type[Assignor], leader: MakeLeader
) -> None:
    """kafka-python takes its answer, which lists fewer topics, for the answer to the leader's request."""
    led = leader(kind)
    led.knows({"t": 5})
    cluster = led.coordinator._cluster
    cluster._refresh_future = Future()
    assert owner_of(led.plans({"leader": joins(kind, "t"), "new": joins(kind, "tu")})).keys() == every(
        {"t": 5}
    )
    cluster._refresh_future = None
    led.knows({"t": 5})
    assert cluster.need_update
    assert not led.coordinator.need_rejoin()
    led.knows({"t": 5, "u": 4})
    assert not cluster.need_update
    assert led.coordinator.need_rejoin()


def claims_nonsense(kind: type[Assignor], generation: int) -> object:
    nowhere = {"t": [99], "u": [0, 1, 2]}
    if kind is StickyAssignor:
        return raw("tu", sticky_user_data.encode(nowhere, generation))
    return raw("tu", kind().user_data({}, -1), nowhere, generation)


@with_history
def test_hostile_claims_pin_nothing_after_the_next_update(
    kind: type[Assignor], leader: MakeLeader, caplog: pytest.LogCaptureFixture
) -> None:
    """The liar repeats its claims in each round; one metadata update ends it."""
    led = leader(kind)
    led.knows({"t": 4})
    honest = joins(kind, "tu", {"t": [0, 1, 2, 3]})
    members = {"leader": joins(kind, "t"), "a": honest, "liar": claims_nonsense(kind, 6)}
    assert led.plans(members, 7)["liar"] == {"t": [99], "u": [0, 1, 2]}
    for generation in (8, 9, 10):
        led.knows({"t": 4})
        members["liar"] = claims_nonsense(kind, generation - 1)
        plan = led.plans(members, generation)
        assert owner_of(plan).keys() <= {("t", p) for p in range(4)}
        assert not led.waits
    assert "member liar" in caplog.text
    assert "claims 4 partitions that do not exist" in caplog.text


def test_leader_without_updates_waits_for_three_rounds_at_most(leader: MakeLeader) -> None:
    """Its metadata requests fail; the group then gets a plan of the listed partitions."""
    led = leader(FairestStickyAssignor)
    led.knows({"t": 5})
    waited = []
    for generation in range(7, 12):
        led.plans(group(FairestStickyAssignor), generation)
        waited.append(led.waits)
    assert waited == [True, True, True, False, False]


def test_leader_keeps_unlisted_claims_after_calm_rounds_without_an_update(leader: MakeLeader) -> None:
    """Members that join one after another cause rounds faster than updates; those rounds do not count."""
    led = leader(FairestStickyAssignor)
    led.knows({"t": 5, "u": 4})
    for generation in range(7, 11):
        led.plans(group(FairestStickyAssignor), generation)
        assert not led.waits
    owned = {"u": [0, 1, 2, 3, 4, 5]}
    grown = {"leader": joins(FairestStickyAssignor, "t"), "b": joins(FairestStickyAssignor, "tu", owned, 10)}
    assert led.plans(grown, 11)["b"]["u"] == owned["u"]
    assert led.waits


def test_leader_that_was_follower_meanwhile_believes_claims_again(leader: MakeLeader) -> None:
    """Another member led generation 9, and may have seen the topic grow."""
    led = leader(StickyAssignor)
    led.knows({"t": 5, "u": 4})
    led.plans(group(StickyAssignor), 7)
    led.knows({"t": 5, "u": 4})
    led.plans(group(StickyAssignor), 8)
    assert not led.waits
    owned = {"u": [0, 1, 2, 3, 4, 5]}
    grown = {"leader": joins(StickyAssignor, "t"), "b": joins(StickyAssignor, "tu", owned, 9)}
    assert led.plans(grown, 10)["b"]["u"] == owned["u"]
    assert led.waits


@pytest.mark.parametrize("preempt", [True, False])
def test_active_member_keeps_all_partitions(preempt: bool, leader: MakeLeader) -> None:
    """It also gets new topics; a higher priority takes over only in the next round."""
    led = leader(FailoverAssignor.configured(priority=9, preempt=preempt))
    led.knows({"t": 2, "v": 1})
    everything = {"t": [0, 1, 2, 3], "u": [0]}

    def members(generation: int) -> dict[str, object]:
        high, low = FailoverAssignor(priority=9), FailoverAssignor(priority=1)
        own(low, everything, generation)
        return {"leader": high.metadata("tuv"), "low": low.metadata("tuv")}

    assert led.plans(members(6), 7) == {"leader": {}, "low": {**everything, "v": [0]}}
    led.knows({"t": 4, "u": 1, "v": 1})
    full = {"t": [0, 1, 2, 3], "u": [0], "v": [0]}
    expected = {"leader": full, "low": {}} if preempt else {"leader": {}, "low": full}
    assert led.plans(members(7), 8) == expected


def test_strategy_without_history_plans_listed_partitions(leader: MakeLeader) -> None:
    """Eager members of ``range`` send no claims."""
    led = leader(RangeAssignor)
    led.knows({"t": 2})
    owned: Ownership = convert.ownership([("u", 0)])
    plan = led.plans({"leader": joins(RangeAssignor, "t"), "b": joins(RangeAssignor, "tu", owned)})
    assert owner_of(plan).keys() == {("t", 0), ("t", 1)}
    assert not led.waits


@pytest.mark.parametrize("kind", [RangeAssignor, CooperativeStickyAssignor], ids=lambda kind: kind.name)
def test_topic_without_metadata_is_a_complaint_only_after_the_next_update(
    kind: type[Assignor], leader: MakeLeader, caplog: pytest.LogCaptureFixture
) -> None:
    """kafka-python plans the first round of a group before it knows the group's topics."""
    led = leader(kind)
    members = {"leader": joins(kind, "t"), "b": joins(kind, "tv")}
    led.knows({})
    with caplog.at_level(logging.INFO, logger="kafka_assignors"):
        led.plans(members, 7)
    expected = "member b subscribes to topics 't', 'v', which the metadata does not list yet"
    assert f"{kind.name}: {expected}" in caplog.messages
    assert not warnings(caplog)
    led.knows({"t": 2})
    led.plans(members, 8)
    assert warnings(caplog) == [
        f"{kind.name}: member b subscribes to unknown topic 'v'; the leader ignores that part"
    ]
