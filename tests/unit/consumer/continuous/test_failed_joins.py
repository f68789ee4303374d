"""A continuous member repeats a join that failed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.assignors import cooperative_sticky
from kafka.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaConnectionError,
    KafkaTimeoutError,
)
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

from tests.support.waiting import until
from tests.unit.consumer.continuous.scripted import FIRST, SECOND, Scripted
from tests.unit.consumer.continuous.situations import (
    REBALANCE,
    STALE,
    busy,
    closing,
    commit,
    rebalancing,
    unsubscribed,
)


def cut(m: Scripted, kind: type = JoinGroupRequest) -> None:
    """The connection breaks during a join, and the member joins again without ``poll()``."""
    joins = len(m.of(JoinGroupRequest))
    m.fail(kind, KafkaConnectionError("gone"))
    until(lambda: len(m.of(JoinGroupRequest)) == joins + 1)


both_ways = pytest.mark.parametrize(
    "begins", [lambda m: m.beat(REBALANCE), Scripted.rebalance], ids=["without poll", "in poll"]
)


@both_ways
@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
def test_failed_join_is_repeated_without_poll(
    kind: type, begins: Callable[[Scripted], None], member: Any
) -> None:
    """A batch may take longer than a session."""
    m = member(0)
    begins(m)
    polled = m.coordinator.heartbeat.last_poll
    if kind is SyncGroupRequest:
        m.answer_join()
    cut(m, kind)
    assert m.coordinator.heartbeat.last_poll == polled
    m.settle(0, 1)
    assert m.owned == [0, 1]
    assert m.listener.heard == [("assigned", [1])]


def test_join_that_timed_out_while_connecting_is_repeated(member: Any) -> None:
    """kafka-python raises the error that also ends a wait, so the join would count as running for ever.

    A member without partitions joins inside ``poll()``.
    """
    m = member(retry_backoff_ms=1)
    m.coordinator.reset_generation()
    m.poll()
    m.fail(JoinGroupRequest, KafkaTimeoutError("after 10000 ms"))
    until(lambda: bool(m.poll()) or len(m.of(JoinGroupRequest)) > 1)
    m.joined(0, 1)
    until(m.poll)
    assert m.owned == [0, 1]


def test_heartbeat_after_a_lost_answer_of_join_group_keeps_the_membership(member: Any) -> None:
    """The broker may have completed the join, so the generation that the member knows is over."""
    m = member(0, heartbeat_interval_ms=10, beats=False)
    m.beat(REBALANCE)
    cut(m)
    until(lambda: m.of(HeartbeatRequest, node_id=SECOND))
    for sent in m.of(HeartbeatRequest, node_id=SECOND):
        if not sent.future.is_done:
            m.answer(sent, SimpleNamespace(error_code=IllegalGenerationError.errno))
    assert not m.coordinator._heartbeat_enabled
    assert len(m.of(HeartbeatRequest, node_id=FIRST)) == 1
    m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


def test_auto_commit_after_a_lost_answer_of_join_group_keeps_the_membership(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.rebalance()
    m.answer_commit()
    cut(m)
    m.coordinator.next_auto_commit_deadline = 0.0
    m.poll()
    assert m.open(OffsetCommitRequest).node_id == SECOND
    m.answer_commit(IllegalGenerationError.errno)
    m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


def test_join_that_poll_repeats_sends_no_commit_before_it(member: Any) -> None:
    m = member(0, auto_commit=True, retry_backoff_ms=50)
    m.rebalance()
    m.answer_commit()
    m.consumer._subscription.subscribed_pattern = object()  # the member does not repeat it by itself
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    m.poll()
    assert len(m.of(JoinGroupRequest)) == 1  # not with each poll
    until(lambda: m.poll() and len(m.of(JoinGroupRequest)) == 2)
    assert list(m.requests()) == ["OffsetCommit", "JoinGroup", "JoinGroup"]
    m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


@pytest.mark.parametrize("code", STALE)
@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
def test_commit_after_a_lost_answer_is_sent_again_after_the_join(kind: type, code: int, member: Any) -> None:
    m = rebalancing(member)
    if kind is SyncGroupRequest:
        m.answer_join()
    m.fail(kind, KafkaConnectionError("gone"))
    done = commit(m)
    m.answer_commit(code)
    until(lambda: len(m.of(JoinGroupRequest)) == 2)
    m.joined(0)
    m.answer_commit()
    assert done.succeeded()
    m.poll()
    assert (m.listener.heard, m.owned) == ([], [0])


@pytest.mark.parametrize("change", ["closing", "lost", "unsubscribed"])
def test_failed_join_is_not_repeated_after_a_change(change: str, member: Any) -> None:
    m = member(0, retry_backoff_ms=1000)  # the change comes within it on a busy machine, too
    m.beat(REBALANCE)
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    if change == "closing":
        closing(m)
    elif change == "lost":
        m.in_background(m.coordinator.reset_generation)
    else:
        unsubscribed(m)
    until(lambda: not m.coordinator._join.is_in_flight)
    assert len(m.of(JoinGroupRequest)) == 1


@pytest.mark.parametrize("ends", ["cut", "next round"])
def test_member_that_has_not_polled_for_too_long_leaves_instead_of_joining_again(
    ends: str, member: Any
) -> None:
    m = member(0)
    m.beat(REBALANCE)
    busy(m)
    if ends == "cut":
        m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    else:
        m.answer_join()
        m.answer_sync(code=REBALANCE)
    assert m.open(LeaveGroupRequest).node_id == SECOND
    m.answer_leave()
    m.poll()
    m.poll()
    assert m.listener.heard == [("lost", [0])]
    assert m.open(JoinGroupRequest).claims == {}


def test_failed_join_is_repeated_once_a_coordinator_is_found(member: Any) -> None:
    m = member(0, retry_backoff_ms=5, heartbeat_interval_ms=10)
    m.beat(REBALANCE)
    m.coordinator.coordinator_id = None
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    assert m.poll(50)  # goes on delivering
    assert len(m.of(JoinGroupRequest)) == 1
    m.coordinator.coordinator_id = FIRST
    until(lambda: len(m.of(JoinGroupRequest)) == 2)
    m.settle(0)
    assert m.owned == [0]


def test_failed_join_for_another_subscription_is_repeated(member: Any) -> None:
    m = member(0, strategy=cooperative_sticky.CooperativeStickyAssignor)
    m.consumer.subscribe(["t", "u"], listener=m.listener)
    m.poll()
    closing(m)
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    m.poll()
    m.open(JoinGroupRequest)


@both_ways
def test_fatal_error_of_a_join_is_raised_by_the_next_poll(
    begins: Callable[[Scripted], None], member: Any
) -> None:
    m = member(0, group_instance_id="i")
    begins(m)
    m.answer_join(FencedInstanceIdError.errno)
    with pytest.raises(FencedInstanceIdError):
        m.poll()
