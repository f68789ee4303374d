"""A continuous member whose membership is lost during a join."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.coordinator.assignors import cooperative_sticky
from kafka.errors import IllegalGenerationError, UnknownMemberIdError
from kafka.protocol.consumer import JoinGroupRequest
from kafka.structs import MemberState

from kafka_assignors import CooperativeStickyAssignor
from tests.unit.consumer.continuous.situations import rebalancing


@pytest.mark.parametrize("code", [UnknownMemberIdError.errno, IllegalGenerationError.errno])
def test_loss_while_the_assignment_waits_is_reported_once(code: int, member: Any) -> None:
    m = rebalancing(member, 0, 1)
    m.joined(0, 2)
    m.beat(code)
    m.poll()
    assert m.listener.heard == [("lost", [0, 1])]
    assert m.owned == []
    assert m.open(JoinGroupRequest).claims == {}
    m.poll()
    assert m.listener.heard == [("lost", [0, 1])]


@pytest.mark.parametrize(
    "strategy", [CooperativeStickyAssignor, cooperative_sticky.CooperativeStickyAssignor]
)
@pytest.mark.parametrize("step", ["join", "sync"])
def test_loss_in_the_middle_of_a_join_is_reported_once(step: str, strategy: type, member: Any) -> None:
    m = member(0, 1, strategy=strategy)
    m.rebalance()
    if step == "join":
        m.answer_join(UnknownMemberIdError.errno)
    else:
        m.answer_join()
        m.answer_sync(code=UnknownMemberIdError.errno)
    for _ in range(3):
        m.poll()
    assert m.listener.heard == [("lost", [0, 1])]
    assert m.owned == []
    assert m.open(JoinGroupRequest).claims == {}
    m.settle(3)
    assert m.listener.heard[1:] == [("assigned", [3])]


def test_generation_reset_between_join_and_sync_drops_the_assignment(member: Any) -> None:
    m = rebalancing(member)
    m.answer_join()
    m.in_background(m.coordinator.reset_generation)
    m.answer_sync(0, 1)
    m.poll()
    m.poll()
    assert m.listener.heard == [("lost", [0])]
    assert m.owned == []


def test_loss_between_the_answer_and_its_application(member: Any) -> None:
    """A heartbeat's answer may be read while ``poll`` is on its way to the listeners."""
    m = rebalancing(member)
    m.joined(0, 1)
    c = m.coordinator
    complete = c._on_join_complete_async

    async def lost_first(*args: Any) -> None:
        c.reset_generation()
        c.state = MemberState.STABLE
        await complete(*args)

    c._on_join_complete_async = lost_first
    m.poll()
    c._on_join_complete_async = complete
    m.poll()
    assert m.listener.heard == [("lost", [0])]


def test_loss_during_the_commit_before_the_assignment_is_applied(member: Any) -> None:
    """Others may have all of its partitions by then: none is kept, and none is revoked."""
    m = member(0, 1, auto_commit=True)
    m.rebalance()
    m.answer_commit()
    m.joined(0)
    applied = m.begin_poll()
    m.answer_commit(UnknownMemberIdError.errno)
    assert applied.is_done
    assert m.listener.heard == []
    m.poll()
    assert m.listener.heard == [("lost", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}
