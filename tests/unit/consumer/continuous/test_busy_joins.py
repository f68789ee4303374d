"""A continuous member joins while the application is busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka.future import Future
from kafka.protocol.consumer import JoinGroupRequest, OffsetCommitRequest

from kafka_assignors.consumer.continuous.join_state import JoinState
from kafka_assignors.consumer.continuous.membership import EarlyHeartbeat
from tests.unit.consumer.continuous.scripted import Scripted
from tests.unit.consumer.continuous.situations import REBALANCE, busy, closing, unsubscribed


def test_reported_rebalance_is_joined_without_poll_and_without_commit(member: Any) -> None:
    """The records of the last poll are still being processed."""
    m = member(0, 1, auto_commit=True)
    m.beat(REBALANCE)
    assert m.open(JoinGroupRequest).claims == {"t": [0, 1]}
    assert m.of(OffsetCommitRequest) == []
    m.joined(0, 1, 2)
    assert m.listener.heard == []
    m.poll()
    assert m.listener.heard == [("assigned", [2])]
    assert len(m.of(JoinGroupRequest)) == 1


def test_assignment_that_waits_is_dropped_for_a_newer_one(member: Any) -> None:
    """However often others begin new rounds, one poll applies the last one."""
    m = member(0)
    for gained in (1, 2, 3):
        m.beat(REBALANCE)
        assert m.open(JoinGroupRequest).claims == {"t": [0]}
        m.joined(0, gained)
    m.poll()
    assert m.listener.heard == [("assigned", [3])]
    assert len(m.of(JoinGroupRequest)) == 3
    assert m.coordinator._generation.generation_id == 10


def test_busy_member_claims_revoked_partitions_until_it_polls(member: Any) -> None:
    """Other members need not wait; no member gets a partition it still processes."""
    m = member(0, 1)
    m.beat(REBALANCE)
    m.joined(0)
    m.beat(REBALANCE)
    sent = m.open(JoinGroupRequest)
    assert sent.claims == {"t": [0, 1]}
    ((_, subscription),) = sent.request.protocols
    assert subscription.generation_id == 7  # the leader sees that it has no newer assignment
    m.joined(0)
    assert m.listener.heard == []
    m.poll()
    assert m.listener.heard == [("revoked", [1])]
    assert m.open(JoinGroupRequest).claims == {"t": [0]}


def test_assignment_that_waits_is_kept_while_the_group_is_settled(member: Any) -> None:
    m = member(0)
    m.beat(REBALANCE)
    m.joined(0, 1)
    m.beat()
    assert len(m.of(JoinGroupRequest)) == 1


def test_join_may_begin_depends_on_the_phase() -> None:
    """Not while ``poll()`` is about to apply an answer: a heartbeat may be answered at that moment."""
    settled, state = JoinState(), JoinState()
    state.send()
    assert (settled.may_begin, state.may_begin) == (True, False)
    state.answer(frozenset())
    state.request_rejoin()
    for is_in_poll, is_closing, may_begin in ((0, 0, True), (1, 0, False), (0, 1, False)):
        state.is_in_poll, state.is_closing = bool(is_in_poll), bool(is_closing)
        assert state.may_begin is may_begin


def test_no_join_begins_while_a_listener_runs(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader would reassign partitions before they are flushed."""
    m = member(0, 1)
    flushed = Future()

    async def flush(_revoked: Any) -> None:
        await flushed

    monkeypatch.setattr(m.listener, "on_partitions_revoked", flush)
    m.rebalance()
    m.joined(0)
    m.begin_poll()
    m.beat(REBALANCE)
    assert len(m.of(JoinGroupRequest)) == 1
    flushed.success(None)
    m.drain()
    m.poll()
    assert m.open(JoinGroupRequest).claims == {"t": [0]}


def subscribed_by_pattern(m: Scripted) -> None:
    m.consumer._subscription.subscribed_pattern = object()


@pytest.mark.parametrize("state", [busy, unsubscribed, subscribed_by_pattern, closing])
def test_join_that_needs_poll_waits_for_it(state: Callable[[Scripted], None], member: Any) -> None:
    m = member(0)
    state(m)
    m.beat(REBALANCE)
    assert m.of(JoinGroupRequest) == []


def test_heartbeats_are_frequent_after_a_join_and_then_regular(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the same times in all members, so that all hear of the next rebalance together."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    beat = EarlyHeartbeat(heartbeat_interval_ms=3000)
    due = []
    for late in (0.0, 0.02, 0.0, 0.2, 0.0, 0.0, 1.0, 0.0):
        due.append(round(now + beat.time_to_next_heartbeat() - 100, 2))
        now = 100 + due[-1] + late
        beat.sent_heartbeat()
    assert due == [0.05, 0.15, 0.35, 0.75, 1.55, 3.0, 6.0, 9.0]


def test_failed_heartbeat_is_retried_as_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    beat = EarlyHeartbeat(heartbeat_interval_ms=3000, retry_backoff_ms=70)
    beat.sent_heartbeat()
    beat.fail_heartbeat()
    assert beat.time_to_next_heartbeat() == pytest.approx(0.07)
