"""Members with false or unreadable data: the group settles validly, and the leader warns once of each.

A hostile member is kafka-python's consumer with an assignor that sends what it likes.  It never leads.
"""

from __future__ import annotations

import random

import pytest
from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors import CooperativeStickyAssignor, StickyAssignor
from kafka_assignors.plan import Ownership
from kafka_assignors.wire import cooperative_user_data, sticky_user_data
from tests.integration.conftest import FreshNames
from tests.integration.groups.hostile import Hostile, assert_named_once_a_rebalance
from tests.integration.members import Group, assert_never_two_owners
from tests.support.quick import long, quick

PARTITIONS = 12
EVERYTHING = range(PARTITIONS)
FUTURE = 2**31 - 1
MEGABYTE = 900_000  # the group's record on the broker must fit into its 1 MB, too


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


@pytest.mark.parametrize(
    "hostile", quick([EagerGreedy, EagerStale, CooperativeGreedy, CooperativeStale], CooperativeStale)
)
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


@pytest.mark.parametrize("hostile", [EagerGreedy, long(CooperativeGreedy)])
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
