"""A continuous member joins between and during polls."""

from __future__ import annotations

import time
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, UnstableOffsetCommitError
from kafka.future import Future
from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetFetchRequest
from kafka.structs import MemberState, TopicPartition

from kafka_assignors.consumer.continuous import coordinator
from tests.support.waiting import until
from tests.unit.consumer.continuous.scripted import Scripted
from tests.unit.consumer.continuous.situations import REBALANCE, T0, rebalancing


@pytest.mark.parametrize("step", ["ensure_coordinator_ready", "poll_heartbeat", "need_rejoin"])
def test_rebalance_that_begins_inside_poll_does_not_hold_it_up(
    step: str, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heartbeat may be answered at any moment; the join lasts until the slowest member has joined."""
    m = member(0, 1)
    inherited = getattr(m.coordinator, step)

    def after_a_heartbeat(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        m.beat(REBALANCE)
        return inherited(*args, **options)

    monkeypatch.setattr(m.coordinator, step, after_a_heartbeat)
    began = time.monotonic()
    assert m.poll(10_000)
    assert time.monotonic() - began < 5


def test_idle_poll_looks_for_an_assignment_often(member: Any) -> None:
    """A rebalance may begin while the application waits for records; heartbeats are 3 s apart."""
    m = member(0)
    assert m.coordinator.time_to_next_poll() <= 0.1


def test_offsets_of_new_partitions_do_not_hold_up_the_others(member: Any) -> None:
    """The coordinator may still load the offsets, or a transaction of the former owner may be open."""
    m = member(0)
    m.beat(REBALANCE)
    m.settle(0, 1)
    began = time.monotonic()
    assert not m.fetch_offsets(10_000)
    assert time.monotonic() - began < 5
    m.open(OffsetFetchRequest)


def waiting_for_offsets(member: Any) -> Any:
    """A member that has gained partition 1 and asks for its committed offset; it retries after a minute."""
    m = member(0, retry_backoff_ms=60_000)
    m.beat(REBALANCE)
    m.settle(0, 1)
    assert not m.fetch_offsets()
    return m


def test_refused_offsets_are_not_requested_with_every_poll(member: Any) -> None:
    """A broker refuses them while a transaction of the former owner is open."""
    m = waiting_for_offsets(member)
    m.answer_offsets({}, UnstableOffsetCommitError.errno)
    for _ in range(3):
        assert not m.fetch_offsets()
    assert len(m.of(OffsetFetchRequest)) == 1


def test_offsets_that_arrive_between_two_polls_are_used_by_the_next(member: Any) -> None:
    m = waiting_for_offsets(member)
    m.answer_offsets({1: 42})
    assert m.fetch_offsets()
    assert m.positions == {0: 100, 1: 42}


def test_position_waits_for_the_committed_offset(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in KafkaConsumer; only poll() goes on without it."""
    monkeypatch.setattr(coordinator, "_SLICE_MS", 0)
    m = member(0)
    m.beat(REBALANCE)
    m.settle(0, 1)
    positions: list[int] = []
    Thread(target=lambda: positions.append(m.consumer.position(TopicPartition("t", 1))), daemon=True).start()
    until(lambda: m.of(OffsetFetchRequest))
    m.answer_offsets({1: 42})
    until(lambda: positions)
    assert positions == [42]


def cut_off(m: Scripted) -> None:
    """No broker can be reached."""
    m.coordinator.coordinator_dead("the test cuts it off")
    error = KafkaConnectionError("cut off")
    m.coordinator.lookup_coordinator = lambda: Future().failure(error)
    m.coordinator._cluster.request_update = lambda: Future().failure(error)


def test_poll_goes_on_when_no_broker_can_be_reached(member: Any) -> None:
    """kafka-python's poll() raises the error of the metadata request."""
    m = member(0, retry_backoff_ms=1)
    cut_off(m)
    assert m.poll()
    assert m.owned == [0]


def test_committed_raises_when_no_broker_can_be_reached(member: Any) -> None:
    """As in KafkaConsumer; it would wait for ever."""
    m = member(0, retry_backoff_ms=1)
    cut_off(m)
    committed = m.in_background(m.coordinator.fetch_committed_offsets_async, [T0])
    until(lambda: m.drain() or committed.is_done)
    assert isinstance(committed.exception, KafkaConnectionError)


def test_first_join_settles_with_polls_of_no_length(member: Any) -> None:
    """kafka-python forgets a join that ended between two polls, and joins again."""
    m = member()
    assert not m.poll()
    m.joined(0)
    assert not m.of(LeaveGroupRequest)  # the poll before the join counts for max_poll_interval_ms
    assert m.poll()
    assert m.owned == [0]
    assert m.poll()
    assert len(m.of(JoinGroupRequest)) == 1


def test_committed_offsets_are_fetched_again_for_a_partition_that_comes_back(member: Any) -> None:
    """Another member may have committed since the first request; kafka-python would use its answer."""
    m = rebalancing(member)
    m.settle(0, 1)
    assert not m.fetch_offsets()
    first = m.open(OffsetFetchRequest)
    m.rebalance()
    m.settle(0)
    m.answer(first, SimpleNamespace(API_VERSION=8, groups=[SimpleNamespace(error_code=0, topics=[])]))
    m.settle(0, 1)
    assert not m.fetch_offsets()
    assert m.open(OffsetFetchRequest) is not first


def test_assignor_that_crashes_is_reported_once(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale error must not be raised for ever."""
    m = member(0)

    def crash() -> Any:
        raise ValueError("broken")

    monkeypatch.setattr(m.coordinator, "group_protocols", crash)
    m.coordinator.request_rejoin()
    m.in_background(m.coordinator.ensure_active_group_async, 0)
    with pytest.raises(ValueError, match="broken"):
        m.poll()
    monkeypatch.undo()
    m.poll()
    assert m.settle(0)
    assert m.coordinator.state is MemberState.STABLE


def test_rejoin_requested_while_the_assignment_waits_is_kept(member: Any) -> None:
    m = rebalancing(member)
    m.joined(0, 1)
    m.coordinator.request_rejoin()
    m.poll()
    assert m.owned == [0, 1]
    assert len(m.of(JoinGroupRequest)) == 2


def test_rejoin_requested_during_join_group_is_answered_by_it(member: Any) -> None:
    m = rebalancing(member)
    m.coordinator.request_rejoin()
    m.settle(0)
    assert len(m.of(JoinGroupRequest)) == 1


def test_heartbeats_resume_when_the_assignment_arrives(member: Any) -> None:
    """A batch longer than a session must not cost the membership.  An answer does not count as a poll."""
    m = member(0, session_timeout_ms=6000, heartbeat_interval_ms=10)
    m.rebalance()
    m.coordinator.heartbeat.last_poll = polled = time.monotonic() - 60
    m.joined(0)
    until(lambda: 8 in {beat.request.generation_id for beat in m.of(HeartbeatRequest)})
    assert m.coordinator.heartbeat.last_poll == polled
