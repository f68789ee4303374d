"""Members with false or unreadable data: the group settles validly, and the leader warns once of each.

A hostile member is kafka-python's consumer with an assignor that sends what it likes.  It never leads.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import ClassVar

import pytest
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kafka_assignors import CooperativeStickyAssignor, StickyAssignor
from kafka_assignors.plan import NO_GENERATION, Ownership
from kafka_assignors.wire import cooperative_user_data, sticky_user_data
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, Member, assert_never_two_owners
from tests.support.quick import long

PARTITIONS = 12
EVERYTHING = range(PARTITIONS)
FUTURE = 2**31 - 1
MEGABYTE = 900_000  # the group's record on the broker must fit into its 1 MB, too


class Hostile(AbstractPartitionAssignor):
    """Joins with claims and user data of a subclass.

    Attributes:
        generation: of its claims.
    """

    name: ClassVar[str]
    generation: ClassVar[int] = NO_GENERATION

    def claims(self, topics: list[str]) -> Ownership:
        """Its claimed partitions."""
        return {}

    def user_data(self, topics: list[str]) -> bytes:
        """Its user data."""
        return b""

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Be hostile."""
        mine = sorted(topics)
        owned = self.claims(mine) if self.name == "cooperative-sticky" else {}
        entry = ConsumerProtocolSubscription.TopicPartition
        return ConsumerProtocolSubscription(
            version=3,
            topics=mine,
            user_data=self.user_data(mine),
            owned_partitions=[entry(topic=t, partitions=list(p)) for t, p in owned.items()],
            generation_id=self.generation,
            rack_id=None,
        )

    def assign(self, cluster: object, members: object) -> Mapping[str, object]:
        """Lead, which must not happen: an honest member was here first."""
        raise AssertionError("a hostile member leads")

    def on_assignment(self, assignment: object, generation: int) -> None:
        """Ignore assignments."""


class HostileEager(Hostile):
    """In a ``sticky`` group, where claims are user data."""

    name = "sticky"

    def user_data(self, topics: list[str]) -> bytes:
        return sticky_user_data.encode(self.claims(topics), self.generation)


class HostileCooperative(Hostile):
    """In a ``cooperative-sticky`` group."""

    name = "cooperative-sticky"

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Run cooperative."""
        return [RebalanceProtocol.COOPERATIVE]


class _Noise(Hostile):
    def user_data(self, topics: list[str]) -> bytes:
        return random.Random(7).randbytes(50)


class _Truncated(Hostile):
    def user_data(self, topics: list[str]) -> bytes:
        if self.name == "sticky":
            return sticky_user_data.encode({topics[0]: EVERYTHING}, 1)[:-6]
        return cooperative_user_data.encode(1, {topics[0]: EVERYTHING})[:-6]


class _Megabyte(Hostile):
    def user_data(self, topics: list[str]) -> bytes:
        return random.Random(7).randbytes(MEGABYTE)


class _OutOfRange(Hostile):
    def claims(self, topics: list[str]) -> Ownership:
        return {topics[0]: [-5, PARTITIONS, 2**31 - 1], "no-such-topic": [0, 1, 2]}


class _Greedy(Hostile):
    generation = FUTURE

    def claims(self, topics: list[str]) -> Ownership:
        return {topics[0]: EVERYTHING}


class _Stale(_Greedy):
    generation = 0


class EagerNoise(_Noise, HostileEager):
    """Random user data."""


class EagerTruncated(_Truncated, HostileEager):
    """User data that ends too early."""


class EagerMegabyte(_Megabyte, HostileEager):
    """A megabyte of random user data."""


class EagerOutOfRange(_OutOfRange, HostileEager):
    """Claims what does not exist."""


class EagerGreedy(_Greedy, HostileEager):
    """Claims everything, in the last of all generations."""


class EagerStale(_Stale, HostileEager):
    """Claims everything, in the first of all generations."""


class CooperativeNoise(_Noise, HostileCooperative):
    """Random user data."""


class CooperativeTruncated(_Truncated, HostileCooperative):
    """User data that ends too early."""


class CooperativeMegabyte(_Megabyte, HostileCooperative):
    """A megabyte of random user data."""


class CooperativeOutOfRange(_OutOfRange, HostileCooperative):
    """Claims what does not exist."""


class CooperativeGreedy(_Greedy, HostileCooperative):
    """Claims everything, in the last of all generations."""


class CooperativeStale(_Stale, HostileCooperative):
    """Claims everything, in the first of all generations."""


def honest(hostile: type[Hostile]) -> type:
    """Return the strategy that a hostile member pretends to use."""
    return StickyAssignor if hostile.name == "sticky" else CooperativeStickyAssignor


def assert_named_once_a_rebalance(leader: Member, bad: Member, since: int) -> None:
    """Each rebalance the leader led with that member in the group has exactly one warning that names it."""
    state = bad.state()
    assert state is not None
    count = 0
    per_rebalance = []
    for event in leader.of_kind("log", "rebalance", since=since):
        if event.kind == "rebalance":
            per_rebalance.append(count)
            count = 0
        elif (
            event.facts["level"] == "WARNING"
            and f"member {state.facts['member_id']} " in event.facts["message"]
        ):
            count += 1
    assert per_rebalance
    assert set(per_rebalance) == {1}


@pytest.mark.parametrize(
    "nonsense",
    [
        long([EagerNoise, EagerTruncated, EagerMegabyte, EagerOutOfRange], id="sticky"),
        pytest.param(
            [CooperativeNoise, CooperativeTruncated, CooperativeMegabyte, CooperativeOutOfRange],
            id="cooperative-sticky",
        ),
    ],
)
def test_malformed_user_data_is_ignored_with_one_warning(
    fresh: FreshNames, nonsense: list[type[Hostile]]
) -> None:
    with Group(fresh, PARTITIONS) as group:
        leader, other = group.join_all(2, honest(nonsense[0]))
        group.settled()
        bad = []
        for hostile in nonsense:
            bad.append(group.join(hostile))
            group.settled()
        since = len(leader.events)
        other.close()
        group.settled()
        for member in bad:
            assert_named_once_a_rebalance(leader, member, since)
        assert_never_two_owners([leader, other])


@pytest.mark.parametrize("hostile", [EagerGreedy, EagerStale, CooperativeGreedy, CooperativeStale])
def test_claims_on_partitions_of_other_members(fresh: FreshNames, hostile: type[Hostile]) -> None:
    """False claims may change owners, but each partition has one owner, also with two equal false claims."""
    with Group(fresh, PARTITIONS) as group:
        _, other = group.join_all(2, honest(hostile))
        group.settled()
        group.join(hostile)
        group.settled()
        group.join(hostile)
        group.settled()
        other.close()
        group.settled()


@pytest.mark.parametrize("hostile", [EagerGreedy, CooperativeGreedy])
def test_members_with_the_same_claim_are_named(fresh: FreshNames, hostile: type[Hostile]) -> None:
    """Once a pair, at the one later in seniority."""
    with Group(fresh, PARTITIONS) as group:
        (leader,) = group.join_all(1, honest(hostile))
        group.settled()
        twins = [group.join(hostile), group.join(hostile)]
        group.settled()
        since = len(leader.events)
        group.join(honest(hostile))
        group.settled()
        states = [twin.state() for twin in twins]
        _, later = sorted(states, key=lambda state: state.facts["member_id"] if state else "")
        named = next(twin for twin, state in zip(twins, states, strict=True) if state is later)
        assert_named_once_a_rebalance(leader, named, since)
