"""Static members on a broker: after a restart no member leads, so every member watches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer

from kafka_assignors import (
    ContinuousConsumer,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    FailoverAssignor,
    RangeAssignor,
    StickyAssignor,
)
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, Member, Owned, assert_never_two_owners
from tests.support.quick import long, quick

MAX_AGE_MS = 1000
BOUND_S = MAX_AGE_MS / 1000 + 5
STRATEGIES = [
    StickyAssignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    FailoverAssignor,
    CooperativeLagAwareAssignor,
]
every_strategy = pytest.mark.parametrize(
    "strategy",
    quick(STRATEGIES, CooperativeStickyAssignor),
    ids=lambda strategy: strategy.name,
)


class Instances:
    """The static members of a group, by their instance ids."""

    def __init__(
        self, group: Group, strategy: type, consumer_type: type[KafkaConsumer] = KafkaConsumer
    ) -> None:
        self.group = group
        self._strategy = strategy
        self._consumer_type = consumer_type
        self._members: dict[str, Member] = {}

    def start(self, instance_id: str, **settings: Any) -> Member:
        """Start an instance, or restart it in a new process; the broker returns the same assignment."""
        if instance_id in self._members:
            self.stop(instance_id)
        # kafka-python joins twice when a join ends between two polls, and the second one is a rebalance.
        settings = {
            "consumer_type": self._consumer_type,
            "metadata_max_age_ms": MAX_AGE_MS,
            "poll_ms": 1000,
            "session_timeout_ms": 60_000,  # a restart takes seconds on a busy machine
            **settings,
        }
        member = self.group.join(self._strategy, group_instance_id=instance_id, **settings)
        self._members[instance_id] = member
        return member

    def stop(self, instance_id: str) -> None:
        """Stop an instance; a static member does not leave the group."""
        self._members.pop(instance_id).close()

    def settled(self) -> Owned:
        """Return the assignment by instance id, once no partition moves."""
        owned = self.group.settled()
        return {instance_id: owned[member.name] for instance_id, member in self._members.items()}

    def requests(self) -> list[str]:
        """Return the members' log lines that request a rebalance."""
        messages = [e.facts["message"] for m in self.group.members for e in m.of_kind("log")]
        return [message for message in messages if message.startswith("requesting a rebalance")]

    def owned(self) -> int:
        """Return the number of partitions that members own."""
        return sum(len(s.partitions) for m in self.group.present() if (s := m.state()) is not None)


@pytest.fixture
def consumer_type() -> type[KafkaConsumer]:
    """Return the class of the members' consumers."""
    type_: type[KafkaConsumer] = KafkaConsumer
    return type_


@pytest.fixture
def instances(fresh: FreshNames, strategy: type, consumer_type: type[KafkaConsumer]) -> Iterator[Instances]:
    """Three members, the first of which leads; its topic has six partitions."""
    with Group(fresh, 6) as group:
        started = Instances(group, strategy, consumer_type)
        for instance_id in ("leader", "b", "c"):
            started.start(instance_id)
            started.settled()
        yield started
        assert_never_two_owners(group.members)


def grow(instances: Instances, partitions: int) -> float:
    """Add partitions to the topic; return the seconds until all have an owner."""
    group = instances.group
    began = time.monotonic()
    group.grow(group.topics[0], partitions)
    group.wait_until(lambda: instances.owned() == partitions, "the new partitions")
    return time.monotonic() - began


@every_strategy
def test_new_partitions_after_the_leader_restarted(instances: Instances) -> None:
    """No member requests a rebalance without a reason."""
    before = instances.settled()
    instances.start("leader")
    assert instances.settled() == before
    assert not instances.requests()
    assert grow(instances, 12) < BOUND_S
    instances.settled()


@pytest.mark.parametrize(
    ("strategy", "consumer_type"),
    [
        long(StickyAssignor, KafkaConsumer),
        long(CooperativeStickyAssignor, KafkaConsumer),
        (CooperativeStickyAssignor, ContinuousConsumer),
    ],
    ids=["sticky", "cooperative-sticky", "ContinuousConsumer"],
)
def test_rolling_restart_moves_nothing(instances: Instances) -> None:
    """All members restart, and the topic grows in the middle."""
    group, before = instances.group, instances.settled()
    for instance_id in ("leader", "b"):
        instances.start(instance_id)
        assert instances.settled() == before
    group.grow(group.topics[0], 9)
    group.wait_until(lambda: instances.owned() == 9, "the new partitions")
    grown = instances.settled()
    assert all(before[name] <= grown[name] for name in before)
    instances.start("c")
    assert instances.settled() == grown


@pytest.mark.parametrize("strategy", [CooperativeStickyAssignor], ids=lambda s: s.name)
@pytest.mark.parametrize(
    "consumer_type", [KafkaConsumer, long(ContinuousConsumer)], ids=lambda type_: type_.__name__
)
def test_members_that_restart_with_one_more_topic(instances: Instances, fresh: FreshNames) -> None:
    """A rolling deploy of static members: the broker starts no rebalance for a subscription."""
    group, before = instances.group, instances.settled()
    old, new = group.topics[0], fresh.topic(3)
    group.partitions |= {TopicPartition(new, p) for p in range(3)}
    instances.start("b", topics=[old, new])
    group.wait_until(lambda: instances.owned() == 9, "the new topic")
    after = instances.settled()
    assert {tp.partition for tp in after["b"] if tp.topic == new} == {0, 1, 2}
    assert all(before[name] <= after[name] for name in ("leader", "c"))


@pytest.mark.parametrize("strategy", [CooperativeLagAwareAssignor], ids=lambda s: s.name)
def test_restarted_leader_watches_the_lag_again(fresh: FreshNames, strategy: type) -> None:
    """With ``rebalance_on_skew`` a restarted leader requests a rebalance in order to lead again."""
    options = {"rebalance_on_skew": True}
    with Group(fresh, 6) as group:
        instances = Instances(group, strategy)
        for instance_id in ("leader", "b"):
            instances.start(instance_id, options=options)
            before = instances.settled()
        again = instances.start("leader", options=options)
        again.wait_for("rebalance")
        assert instances.settled() == before
        assert [message.split(": ")[1] for message in instances.requests()] == [
            "the leader restarted, so no member watches the group's lag"
        ]
