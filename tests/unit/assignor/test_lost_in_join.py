"""The broker forgets a joining member.  kafka-python's own code joins; the test answers its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.errors import IllegalGenerationError, NotCoordinatorError, UnknownMemberIdError
from kafka.future import Future
from kafka.protocol.consumer import JoinGroupRequest, SyncGroupRequest

from kafka_assignors import Assignor, CooperativeStickyAssignor, RangeAssignor
from kafka_assignors.assignor.coordinator_access.consumer import member_id_of
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer
from tests.unit.consumer.continuous.scripted import FIRST, Scripted

UNKNOWN = UnknownMemberIdError.errno
LOST = [
    pytest.param([UNKNOWN], id="JoinGroup: unknown member id"),
    pytest.param([0, UNKNOWN], id="SyncGroup: unknown member id"),
    pytest.param([0, IllegalGenerationError.errno], id="SyncGroup: illegal generation"),
]

Join = Callable[[type[Assignor], list[int]], Scripted]


def waits_for(m: Scripted, kind: type) -> bool:
    m.drain()
    return any(not sent.future.is_done for sent in m.of(kind))


@pytest.fixture
def join(consumer: MakeConsumer) -> Iterator[Join]:
    """A member of partitions 0 and 1 joins again, and gets 1 and 2 after answers with these codes."""
    made: list[Scripted] = []

    def run(kind: type[Assignor], codes: list[int]) -> Scripted:
        m = Scripted(consumer(kind, enable_auto_commit=False), 0, 1)
        made.append(m)

        def found() -> Any:
            m.coordinator.coordinator_id = FIRST
            return Future().success(FIRST)

        m.coordinator.lookup_coordinator = found
        m.coordinator._generation = Generation(7, "before", m.strategy)
        m.coordinator.request_rejoin()
        m.polling = True
        joined = m.in_background(m.coordinator.join_group_async, 20_000)
        left = list(codes)
        while not joined.is_done:
            if waits_for(m, SyncGroupRequest):
                m.answer_sync(1, 2, code=left.pop(0) if left else 0)
            else:
                until(lambda: waits_for(m, JoinGroupRequest))
                m.answer_join(left.pop(0) if left else 0)
        return m

    yield run
    for m in made:
        m.end()


def claims(m: Scripted) -> list[dict[str, list[int]]]:
    """The owned partitions in each of its JoinGroup requests."""
    return [sent.claims for sent in m.of(JoinGroupRequest)]


@pytest.mark.parametrize("codes", LOST)
def test_cooperative_consumer_that_loses_its_membership_joins_again_without_claims(
    codes: list[int], join: Join
) -> None:
    """The listener gets ``on_partitions_lost`` before the new assignment."""
    m = join(CooperativeStickyAssignor, codes)
    assert claims(m) == [{"t": [0, 1]}, {}]
    assert m.listener.heard == [("lost", [0, 1]), ("assigned", [1, 2])]
    assert m.positions == {1: None, 2: None}


def test_member_that_lost_its_membership_gets_a_new_id(join: Join) -> None:
    """Code that stored the old id can tell the difference."""
    assert member_id_of(join(CooperativeStickyAssignor, []).consumer) == "before"
    assert member_id_of(join(CooperativeStickyAssignor, [UNKNOWN]).consumer) == "m"


@pytest.mark.parametrize("codes", LOST)
def test_eager_consumer_that_loses_its_membership_resumes_from_commits(codes: list[int], join: Join) -> None:
    """Its listener gets no extra call: all partitions were revoked when the join began."""
    m = join(RangeAssignor, codes)
    assert m.listener.heard == [("revoked", [0, 1]), ("assigned", [1, 2])]
    assert m.positions == {1: None, 2: None}


@pytest.mark.parametrize("codes", [[], [NotCoordinatorError.errno]], ids=["at once", "after another try"])
def test_member_that_is_not_lost_keeps_its_partitions(codes: list[int], join: Join) -> None:
    m = join(CooperativeStickyAssignor, codes)
    assert claims(m) == [{"t": [0, 1]}] * (1 + len(codes))
    assert m.listener.heard == [("revoked", [0]), ("assigned", [2])]
    assert m.positions == {1: 100, 2: None}
