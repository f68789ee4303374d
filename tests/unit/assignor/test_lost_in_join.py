"""The broker forgets a joining member.  kafka-python's own code joins; the test answers its requests."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import AsyncConsumerRebalanceListener
from kafka.coordinator.base import Generation
from kafka.errors import IllegalGenerationError, NotCoordinatorError, UnknownMemberIdError
from kafka.future import Future
from kafka.protocol.consumer.group import JoinGroupRequest, SyncGroupRequest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.structs import MemberState, TopicPartition

from kafka_assignors import Assignor, CooperativeStickyAssignor, RangeAssignor
from kafka_assignors.assignor import convert
from kafka_assignors.assignor.coordinator_access.consumer import member_id_of
from tests.support.joining import own
from tests.unit.conftest import MakeConsumer

T0, T1, T2 = (TopicPartition("t", p) for p in range(3))

LOST = [
    pytest.param([UnknownMemberIdError.errno], id="JoinGroup: unknown member id"),
    pytest.param([0, UnknownMemberIdError.errno], id="SyncGroup: unknown member id"),
    pytest.param([0, IllegalGenerationError.errno], id="SyncGroup: illegal generation"),
]


class RecordingListener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # its base is Any
    """Records the calls of a listener."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[int]]] = []

    def _record(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.calls.append((what, sorted(tp.partition for tp in partitions)))

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self._record("revoked", revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._record("assigned", assigned)

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self._record("lost", lost)


class Joining:
    """A member of generation 7 that owns partitions 0 and 1 and joins again.

    Attributes:
        claims: owned partitions in each of its JoinGroup requests.
    """

    def __init__(self, made: Any, codes: list[int]) -> None:
        self.listener = RecordingListener()
        self.claims: list[dict[str, list[int]]] = []
        self._codes = list(codes)
        self._generation = 8
        made.subscribe(["t"], listener=self.listener)
        coordinator = made._coordinator
        ((self._strategy, assignor),) = coordinator._assignors.items()
        made._subscription.assign_from_subscribed([T0, T1])
        for partition in (T0, T1):
            made._subscription.assignment[partition].seek(100)
        assert isinstance(assignor, Assignor)
        own(assignor, {"t": [0, 1]}, 7)
        coordinator._generation = Generation(7, "before", self._strategy)
        coordinator.state = MemberState.STABLE
        coordinator.coordinator_id = 0
        coordinator.config["enable_auto_commit"] = False
        coordinator.rejoin_needed = True
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(coordinator._manager, "send", self._answer)
            made._net.run(coordinator.join_group_async, 20_000)
        self.member_id = member_id_of(made)
        self.positions = {
            partition.partition: state.position and state.position.offset
            for partition, state in made._subscription.assignment.items()
        }
        coordinator.reset_generation()  # no broker would answer LeaveGroup

    def _answer(self, request: Any, **_: Any) -> Any:
        code = self._codes.pop(0) if self._codes else 0
        if isinstance(request, JoinGroupRequest):
            ((_, subscription),) = request.protocols
            self.claims.append(dict(convert.owned_in(subscription)))
            member_id = request.member_id or "after"
            if not code:
                self._generation += 1
            answer = SimpleNamespace(
                error_code=code,
                protocol_type=None,
                protocol_name=self._strategy,
                generation_id=self._generation,
                member_id=member_id,
                leader="somebody else",
            )
        else:
            assert isinstance(request, SyncGroupRequest)
            given = ConsumerProtocolAssignment(0, [("t", [1, 2])], b"").encode()
            answer = SimpleNamespace(
                error_code=code, protocol_type=None, protocol_name=None, assignment=given
            )
        return Future().success(answer)


@pytest.mark.parametrize("codes", LOST)
def test_cooperative_consumer_that_loses_its_membership_joins_again_without_claims(
    codes: list[int], consumer: MakeConsumer
) -> None:
    """The listener gets ``on_partitions_lost`` before the new assignment."""
    joining = Joining(consumer(CooperativeStickyAssignor), codes)
    assert joining.claims[0] == {"t": [0, 1]}
    assert joining.claims[1:] == [{}]
    assert joining.listener.calls == [("lost", [0, 1]), ("assigned", [1, 2])]
    assert joining.positions == {1: None, 2: None}


def test_member_that_lost_its_membership_gets_a_new_id(consumer: MakeConsumer) -> None:
    """Code that stored the old id can tell the difference."""
    assert Joining(consumer(CooperativeStickyAssignor), []).member_id == "before"
    assert Joining(consumer(CooperativeStickyAssignor), [UnknownMemberIdError.errno]).member_id == "after"


@pytest.mark.parametrize("codes", LOST)
def test_eager_consumer_that_loses_its_membership_resumes_from_commits(
    codes: list[int], consumer: MakeConsumer
) -> None:
    """Its listener gets no extra call: all partitions were revoked when the join began."""
    joining = Joining(consumer(RangeAssignor), codes)
    assert joining.listener.calls == [("revoked", [0, 1]), ("assigned", [1, 2])]
    assert joining.positions == {1: None, 2: None}


@pytest.mark.parametrize("codes", [[], [NotCoordinatorError.errno]], ids=["at once", "after another try"])
def test_member_that_is_not_lost_keeps_its_partitions(codes: list[int], consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor)
    made._coordinator.lookup_coordinator = lambda: _found(made._coordinator)
    joining = Joining(made, codes)
    assert joining.claims == [{"t": [0, 1]}] * (1 + len(codes))
    assert joining.listener.calls == [("revoked", [0]), ("assigned", [2])]
    assert joining.positions == {1: 100, 2: None}


def _found(coordinator: Any) -> Any:
    coordinator.coordinator_id = 0
    return Future().success(0)
