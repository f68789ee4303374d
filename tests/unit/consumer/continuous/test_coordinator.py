"""``poll()`` delivers records during a cooperative rebalance, on a scripted broker."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.assignors import cooperative_sticky
from kafka.coordinator.base import Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaConnectionError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.future import Future
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from kafka_assignors import CooperativeStickyAssignor, RangeAssignor, make_continuous
from kafka_assignors.assignor.coordinator_access import heartbeat_age_s
from kafka_assignors.consumer.continuous import joins, known_parts
from kafka_assignors.consumer.continuous.coordinator import ContinuousCoordinator
from kafka_assignors.consumer.continuous.heartbeat import EarlyHeartbeat
from kafka_assignors.consumer.continuous.join_state import JoinState
from kafka_assignors.consumer.continuous.offsets import OffsetsDuringJoins
from tests.support.waiting import until
from tests.unit.conftest import MakeConsumer
from tests.unit.consumer.continuous.scripted import FIRST, SECOND, Scripted

REBALANCE = RebalanceInProgressError.errno
STALE = [RebalanceInProgressError.errno, IllegalGenerationError.errno]
T0 = TopicPartition("t", 0)


# --- which consumers


def test_eager_consumers_keep_their_coordinator(consumer: MakeConsumer) -> None:
    made = consumer(RangeAssignor)
    assert not make_continuous(made)
    assert type(made._coordinator) is ConsumerCoordinator


def test_consumers_without_a_group_keep_their_coordinator(consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor)
    made._coordinator.config["group_id"] = None
    assert not make_continuous(made)
    made._coordinator.config["group_id"] = "g"


def test_a_coordinator_of_another_class_is_left_alone(consumer: MakeConsumer) -> None:
    class Own(ConsumerCoordinator):  # type: ignore[misc]
        pass

    made = consumer(CooperativeStickyAssignor)
    made._coordinator.__class__ = Own
    assert not make_continuous(made)
    assert type(made._coordinator) is Own


@pytest.mark.parametrize("state", [MemberState.REBALANCING, MemberState.STABLE])
def test_consumer_that_has_polled_keeps_its_coordinator(
    state: MemberState, consumer: MakeConsumer, caplog: pytest.LogCaptureFixture
) -> None:
    made = consumer(CooperativeStickyAssignor)
    made._coordinator.state = state
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        assert not make_continuous(made)
    assert type(made._coordinator) is ConsumerCoordinator
    assert "has polled already" in caplog.text
    made._coordinator.state = MemberState.UNJOINED


def test_make_continuous_twice_is_fine(consumer: MakeConsumer) -> None:
    made = consumer(CooperativeStickyAssignor)
    assert make_continuous(made)
    join = made._coordinator._join
    assert make_continuous(made)
    assert made._coordinator._join is join


def test_installed_kafka_python_is_known() -> None:
    """Every method that the coordinator overrides, repeats or calls has the source we know."""
    assert known_parts.unknown_parts() == ()


def test_unknown_kafka_python_keeps_its_own_poll_with_one_warning(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def join_group_async(self: Any, timeout_ms: Any = None) -> bool:
        return False

    monkeypatch.setattr("kafka.coordinator.base.BaseCoordinator.join_group_async", join_group_async)
    known_parts.unknown_parts.cache_clear()
    try:
        made = consumer(CooperativeStickyAssignor)
        with caplog.at_level(logging.WARNING, "kafka_assignors"):
            assert not make_continuous(made)
        assert type(made._coordinator) is ConsumerCoordinator
        assert not make_continuous(consumer(RangeAssignor))
    finally:
        known_parts.unknown_parts.cache_clear()
    (record,) = caplog.records
    assert record.getMessage().startswith("kafka-python 3.0.12 is unknown (differs in BaseCoordinator)")


def test_kafka_python_with_moved_names_keeps_its_own_poll(
    consumer: MakeConsumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = consumer(CooperativeStickyAssignor)
    monkeypatch.delattr("kafka.structs.MemberState")
    with caplog.at_level(logging.WARNING, "kafka_assignors"):
        assert not make_continuous(made)
    (record,) = caplog.records
    assert "cannot import name 'MemberState'" in record.getMessage()


@pytest.mark.parametrize(("name", "change"), [("poll", "gone"), ("need_rejoin", "changed")])
def test_digest_changes_with_a_method(name: str, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = known_parts.part_digest(ConsumerCoordinator, name)
    if change == "gone":
        monkeypatch.delattr(ConsumerCoordinator, name)
        assert known_parts.part_digest(ConsumerCoordinator, name) == ""
    else:
        monkeypatch.setattr(ConsumerCoordinator, name, ConsumerCoordinator.poll)
        assert known_parts.part_digest(ConsumerCoordinator, name) not in ("", before)


def test_every_overridden_method_is_pinned() -> None:
    """A method that ours overrides and the digests leave out could change unseen."""
    pinned = {name for methods in known_parts._METHODS.values() for name in methods.split()}
    overridden = {
        name
        for ours in (ContinuousCoordinator, OffsetsDuringJoins)
        for name, value in vars(ours).items()
        if inspect.isfunction(value) and hasattr(ConsumerCoordinator, name)
    }
    assert overridden <= pinned


# --- joins


def test_poll_delivers_while_a_join_is_in_flight(member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
    assert m.poll(1000)
    assert m.owned == [0, 1]
    assert len(m.of(JoinGroupRequest)) == 1


def test_join_that_ends_between_two_polls_is_applied_once(member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
    m.joined(0, 1, 2)
    assert m.listener.heard == []
    assert m.poll()
    assert m.listener.heard == [("assigned", [2])]
    assert m.owned == [0, 1, 2]
    assert m.poll()
    assert len(m.of(JoinGroupRequest)) == 1
    assert m.coordinator.state is MemberState.STABLE


def test_first_join_settles_with_polls_of_no_length(member: Any) -> None:
    """kafka-python forgets a join that ended between two polls, and joins again."""
    m = member()
    assert not m.poll()
    m.joined(0)
    assert m.poll()
    assert m.owned == [0]
    assert m.poll()
    assert len(m.of(JoinGroupRequest)) == 1


def test_revoked_partitions_start_the_follow_up_in_the_same_poll(member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
    m.joined(0)
    assert m.poll()
    assert m.listener.heard == [("revoked", [1])]
    assert m.open(JoinGroupRequest).claims == {"t": [0]}
    assert m.positions == {0: 100}


def test_committed_offsets_are_fetched_again_for_a_partition_that_comes_back(member: Any) -> None:
    """Another member may have committed since the first request; kafka-python would use its answer."""
    m = member(0)
    m.rebalance()
    m.joined(0, 1)
    m.poll()
    assert not m.coordinator.refresh_committed_offsets_if_needed(timeout_ms=0)
    first = m.open(OffsetFetchRequest)
    m.rebalance()
    m.joined(0)
    m.poll()
    m.answer(first, SimpleNamespace(API_VERSION=8, groups=[SimpleNamespace(error_code=0, topics=[])]))
    m.joined(0, 1)
    m.poll()
    assert not m.coordinator.refresh_committed_offsets_if_needed(timeout_ms=0)
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
    m.joined(0)
    assert m.poll()
    assert m.coordinator.state is MemberState.STABLE


def test_fenced_member_gets_the_error_in_poll(member: Any) -> None:
    m = member(0, group_instance_id="i")
    m.rebalance()
    m.answer_join(FencedInstanceIdError.errno)
    with pytest.raises(FencedInstanceIdError):
        m.poll()


def test_rejoin_requested_while_the_assignment_waits_is_kept(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.joined(0, 1)
    m.coordinator.request_rejoin()
    m.poll()
    assert m.owned == [0, 1]
    assert len(m.of(JoinGroupRequest)) == 2


def test_rejoin_requested_during_join_group_is_answered_by_it(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.coordinator.request_rejoin()
    m.joined(0)
    m.poll()
    assert len(m.of(JoinGroupRequest)) == 1


def test_heartbeats_resume_when_the_assignment_arrives(member: Any) -> None:
    """A batch longer than a session must not cost the membership.  An answer does not count as a poll."""
    m = member(0, session_timeout_ms=6000, heartbeat_interval_ms=10)
    m.rebalance()
    m.coordinator.heartbeat.last_poll = polled = time.monotonic() - 60
    m.joined(0)
    until(lambda: 8 in {beat.request.generation_id for beat in m.of(HeartbeatRequest)})
    assert m.coordinator.heartbeat.last_poll == polled


# --- joins while the application is busy


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


def test_round_that_others_began_is_joined_without_poll(member: Any) -> None:
    m = member(0)
    m.beat(REBALANCE)
    m.answer_join()
    m.answer_sync(code=REBALANCE)
    m.joined(0, 1)
    m.poll()
    assert m.owned == [0, 1]


def test_assignment_that_waits_is_dropped_for_a_newer_one(member: Any) -> None:
    m = member(0)
    m.beat(REBALANCE)
    m.joined(0, 1)
    m.beat(REBALANCE)
    assert m.open(JoinGroupRequest).claims == {"t": [0]}
    m.joined(0, 2)
    m.poll()
    assert m.listener.heard == [("assigned", [2])]
    assert m.coordinator._generation.generation_id == 9


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


def rejoin_requested(**flags: bool) -> JoinState:
    """A member with a waiting assignment and a requested rejoin."""
    state = JoinState()
    state.send()
    state.answer(frozenset())
    state.request_rejoin()
    for name, value in flags.items():
        setattr(state, name, value)
    return state


def test_join_may_begin_depends_on_the_phase() -> None:
    """Not while ``poll()`` is about to apply an answer: a heartbeat may be answered at that moment."""
    joining = JoinState()
    joining.send()
    assert JoinState().may_begin
    assert rejoin_requested().may_begin
    assert not joining.may_begin
    assert not rejoin_requested(is_in_poll=True).may_begin
    assert not rejoin_requested(is_closing=True).may_begin


def test_no_join_begins_while_a_listener_runs(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader would reassign partitions before they are flushed."""
    m = member(0, 1)
    flushed = Future()

    async def flush(_revoked: Any) -> None:
        await flushed

    monkeypatch.setattr(m.listener, "on_partitions_revoked", flush)
    m.rebalance()
    m.joined(0)
    m.polling = True
    m.in_background(m.coordinator.ensure_active_group_async, 0)
    m.beat(REBALANCE)
    assert len(m.of(JoinGroupRequest)) == 1
    flushed.success(None)
    m.drain()
    m.poll()
    assert m.open(JoinGroupRequest).claims == {"t": [0]}


def busy(m: Scripted) -> None:
    m.coordinator.heartbeat.last_poll -= m.coordinator.config["max_poll_interval_ms"] / 1000 + 1


def unsubscribed(m: Scripted) -> None:
    m.consumer.subscribe(["u"], listener=m.listener)


def subscribed_by_pattern(m: Scripted) -> None:
    m.consumer._subscription.subscribed_pattern = object()


def closing(m: Scripted) -> None:
    m.coordinator._join.is_closing = True


@pytest.mark.parametrize("state", [busy, unsubscribed, subscribed_by_pattern, closing])
def test_join_that_needs_poll_waits_for_it(state: Callable[[Scripted], None], member: Any) -> None:
    m = member(0)
    state(m)
    m.beat(REBALANCE)
    assert m.of(JoinGroupRequest) == []


def cut(m: Scripted, kind: type = JoinGroupRequest) -> None:
    """The connection breaks during a join, and the member joins again without ``poll()``."""
    joins = len(m.of(JoinGroupRequest))
    m.fail(kind, KafkaConnectionError("gone"))
    until(lambda: len(m.of(JoinGroupRequest)) == joins + 1)


@pytest.mark.parametrize("begins", [lambda m: m.beat(REBALANCE), Scripted.rebalance])
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
    m.joined(0, 1)
    m.poll()
    assert m.owned == [0, 1]
    assert m.listener.heard == [("assigned", [1])]


def test_heartbeat_after_a_lost_answer_of_join_group_keeps_the_membership(member: Any) -> None:
    """The broker may have completed the join, so the generation that the member knows is over."""
    m = member(0, heartbeat_interval_ms=10)
    m.coordinator._maybe_start_heartbeat_loop = lambda: None
    m.beat(REBALANCE)
    cut(m)
    until(lambda: m.of(HeartbeatRequest, node_id=SECOND))
    for sent in m.of(HeartbeatRequest, node_id=SECOND):
        if not sent.future.is_done:
            m.answer(sent, SimpleNamespace(error_code=IllegalGenerationError.errno))
    assert not m.coordinator._heartbeat_enabled
    assert len(m.of(HeartbeatRequest, node_id=FIRST)) == 1
    m.joined(0)
    m.poll()
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
    m.joined(0)
    m.poll()
    assert (m.listener.heard, m.owned) == ([], [0])


def test_join_that_poll_repeats_sends_no_commit_before_it(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.rebalance()
    m.answer_commit()
    m.consumer._subscription.subscribed_pattern = object()  # the member does not repeat it by itself
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    m.poll()
    assert list(m.requests()) == ["OffsetCommit", "JoinGroup", "JoinGroup"]
    m.joined(0)
    m.poll()
    assert (m.listener.heard, m.owned) == ([], [0])


@pytest.mark.parametrize("code", STALE)
@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
def test_commit_after_a_lost_answer_is_sent_again_after_the_join(kind: type, code: int, member: Any) -> None:
    m = member(0)
    m.rebalance()
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
    m = member(0, retry_backoff_ms=20)
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
    m.joined(0)
    m.poll()
    assert m.owned == [0]


def test_failed_join_for_another_subscription_is_repeated(member: Any) -> None:
    m = member(0, strategy=cooperative_sticky.CooperativeStickyAssignor)
    m.consumer.subscribe(["t", "u"], listener=m.listener)
    m.poll()
    closing(m)
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    m.poll()
    m.open(JoinGroupRequest)


def test_fatal_error_of_a_join_without_poll_is_raised_by_the_next_one(member: Any) -> None:
    m = member(0, group_instance_id="i")
    m.beat(REBALANCE)
    m.answer_join(FencedInstanceIdError.errno)
    with pytest.raises(FencedInstanceIdError):
        m.poll()


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


# --- a membership that is lost


@pytest.mark.parametrize("code", [UnknownMemberIdError.errno, IllegalGenerationError.errno])
def test_loss_while_the_assignment_waits_is_reported_once(code: int, member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
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
    m.joined(3)
    m.poll()
    assert m.listener.heard[1:] == [("assigned", [3])]


def test_generation_reset_between_join_and_sync_drops_the_assignment(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.answer_join()
    m.in_background(m.coordinator.reset_generation)
    m.answer_sync(0, 1)
    m.poll()
    m.poll()
    assert m.listener.heard == [("lost", [0])]
    assert m.owned == []


def test_loss_between_the_answer_and_its_application(member: Any) -> None:
    """A heartbeat's answer may be read while ``poll`` is on its way to the listeners."""
    m = member(0)
    m.rebalance()
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
    m.polling = True
    applied = m.in_background(m.coordinator.ensure_active_group_async, 0)
    m.answer_commit(UnknownMemberIdError.errno)
    assert applied.is_done
    assert m.listener.heard == []
    m.poll()
    assert m.listener.heard == [("lost", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}


# --- commits


def commit(m: Scripted, offset: int = 150) -> Any:
    """Commit partition 0, as ``commit()`` does, without blocking the test."""
    return m.in_background(
        m.coordinator._commit_offsets_sync_async, {T0: OffsetAndMetadata(offset, "", -1)}, 30_000
    )


def test_commit_during_join_group_takes_the_second_connection(member: Any) -> None:
    m = member(0)
    m.rebalance()
    done = commit(m)
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.request.generation_id_or_member_epoch, sent.offsets) == (SECOND, 7, {0: 150})
    m.answer_commit()
    assert done.succeeded()


def test_commit_while_the_assignment_waits_takes_the_new_generation(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.joined(0)
    done = commit(m)
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.request.generation_id_or_member_epoch) == (FIRST, 8)
    m.answer_commit()
    assert done.succeeded()


@pytest.mark.parametrize("code", STALE)
def test_commit_overtaken_by_a_generation_is_sent_once_more(code: int, member: Any) -> None:
    m = member(0)
    m.rebalance()
    done = commit(m)
    m.answer_commit(code)
    assert not done.is_done
    m.joined(0)
    assert m.open(OffsetCommitRequest).request.generation_id_or_member_epoch == 8
    m.answer_commit()
    assert done.succeeded()
    assert m.coordinator._generation.generation_id == 8


@pytest.mark.parametrize("code", STALE)
def test_commit_that_is_overtaken_by_the_assignment_fails_as_retriable(code: int, member: Any) -> None:
    """The partition may have another owner by now, whose offsets are newer."""
    m = member(0)
    m.rebalance()
    done = commit(m)
    m.joined(0)
    m.poll()
    m.answer_commit(code)
    assert isinstance(done.exception, RebalanceInProgressError)
    assert len(m.of(OffsetCommitRequest)) == 1
    assert not m.coordinator._generation.is_lost()


@pytest.mark.parametrize("code", STALE)
def test_commit_refused_while_the_assignment_waits_fails_as_retriable(code: int, member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.joined(0)
    done = commit(m)
    m.answer_commit(code)
    m.answer_commit(code)
    assert isinstance(done.exception, RebalanceInProgressError)
    assert not m.coordinator._generation.is_lost()


def test_commit_of_a_join_that_fails_fails_as_retriable(member: Any) -> None:
    m = member(0)
    m.rebalance()
    done = commit(m)
    m.answer_commit(STALE[0])
    closing(m)
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    assert isinstance(done.exception, RebalanceInProgressError)


def test_commit_of_a_removed_member_fails_for_good(member: Any) -> None:
    m = member(0)
    m.rebalance()
    done = commit(m)
    m.answer_commit(UnknownMemberIdError.errno)
    assert isinstance(done.exception, CommitFailedError)


def test_commit_after_the_membership_was_lost_is_never_sent(member: Any) -> None:
    """Its partitions may have other owners, whose offsets are newer."""
    m = member(0)
    m.rebalance()
    m.answer_join(UnknownMemberIdError.errno)
    m.poll()
    m.poll()
    assert m.listener.heard == [("lost", [0])]
    m.open(JoinGroupRequest)
    sent = commit(m)
    m.joined(0)
    assert isinstance(sent.exception, RebalanceInProgressError)
    assert m.of(OffsetCommitRequest) == []


def test_member_that_lost_its_membership_is_not_confirmed_while_it_joins(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.answer_join(UnknownMemberIdError.errno)
    m.poll()
    m.poll()
    m.open(JoinGroupRequest)
    assert heartbeat_age_s(m.consumer) is None


@pytest.mark.parametrize("change", ["member", "partitions"])
def test_overtaken_commit_is_sent_again_only_by_the_owner(change: str, member: Any) -> None:
    m = member(0)
    m.rebalance()
    sent = commit(m)
    m.answer_commit(STALE[0])
    m.answer_join()
    if change == "member":
        m.coordinator._generation = Generation(8, "another", m.strategy)
    else:
        m.consumer._subscription.assign_from_subscribed([])
    m.answer_sync(0)
    assert isinstance(sent.exception, RebalanceInProgressError)
    assert len(m.of(OffsetCommitRequest)) == 1


def test_commit_of_a_settled_member_is_as_inherited(member: Any) -> None:
    """There a stale generation does end the membership."""
    m = member(0)
    done = commit(m)
    assert m.open(OffsetCommitRequest).node_id == FIRST
    m.answer_commit(IllegalGenerationError.errno)
    assert isinstance(done.exception, CommitFailedError)
    assert m.coordinator._generation.is_lost()


def test_commit_is_not_sent_again_over_a_newer_one(member: Any) -> None:
    """Another member begins a round in which the broker accepts the newer commit."""
    m = member(0)
    m.rebalance()
    m.answer_join()
    older = commit(m, 150)
    m.answer_commit(STALE[0])
    m.answer_sync(code=REBALANCE)
    newer = commit(m, 160)
    m.answer_commit()
    m.joined(0)
    assert newer.succeeded()
    assert isinstance(older.exception, RebalanceInProgressError)
    assert [sent.offsets for sent in m.of(OffsetCommitRequest)] == [{0: 150}, {0: 160}]


def test_commit_is_sent_again_without_the_partitions_of_a_newer_one(member: Any) -> None:
    m = member(0, 1)
    both = {tp: OffsetAndMetadata(150, "", -1) for tp in (T0, TopicPartition("t", 1))}
    m.rebalance()
    m.answer_join()
    older = m.in_background(m.coordinator._commit_offsets_sync_async, both, 30_000)
    m.answer_commit(STALE[0])
    m.answer_sync(code=REBALANCE)
    commit(m, 160)
    m.answer_commit()
    m.joined(0, 1)
    assert m.open(OffsetCommitRequest).offsets == {1: 150}
    m.answer_commit()
    assert isinstance(older.exception, RebalanceInProgressError)  # its caller cannot know about the rest


def test_commit_waits_for_an_older_one_on_the_second_connection(member: Any) -> None:
    """That may still be connecting: the older commit would arrive after the newer one."""
    m = member(0)
    m.rebalance()
    m.answer_join()
    older = commit(m, 150)
    m.answer_sync(0)
    newer = commit(m, 160)
    assert m.open(OffsetCommitRequest).offsets == {0: 150}
    m.answer_commit()
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.offsets) == (FIRST, {0: 160})
    m.answer_commit()
    assert older.succeeded()
    assert newer.succeeded()


def test_commit_waits_for_an_older_one_on_the_first_connection(member: Any) -> None:
    m = member(0)
    older = commit(m, 150)
    m.rebalance()
    newer = commit(m, 160)
    assert m.open(OffsetCommitRequest).offsets == {0: 150}
    m.answer_commit()
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.offsets) == (SECOND, {0: 160})
    m.answer_commit()
    assert older.succeeded()
    assert newer.succeeded()


@pytest.mark.parametrize("change", ["newer commit", "revoked", "came back", "another member"])
def test_commit_that_waited_for_another_is_sent_by_the_owner_only(change: str, member: Any) -> None:
    m = member(0)
    older = commit(m, 150)
    m.rebalance()
    waiting = commit(m, 160)
    if change == "newer commit":
        commit(m, 170)
    elif change == "another member":
        m.coordinator._generation = Generation(7, "another", m.strategy)
    else:
        m.consumer._subscription.assign_from_subscribed([])
    if change == "came back":
        m.consumer._subscription.assign_from_subscribed([T0])
    m.answer_commit()
    assert older.succeeded()
    assert isinstance(waiting.exception, RebalanceInProgressError)
    assert {0: 160} not in [sent.offsets for sent in m.of(OffsetCommitRequest)]


def test_commit_is_sent_although_the_coordinator_is_forgotten_meanwhile(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application's thread may notice a broken connection while the I/O thread sends a commit."""
    m = member(0)
    m.rebalance()
    second_connection = m.coordinator._second_connection

    def forgotten(*args: Any) -> str:
        m.coordinator.coordinator_id = None
        return str(second_connection(*args))

    monkeypatch.setattr(m.coordinator, "_second_connection", forgotten)
    commit(m)
    assert m.open(OffsetCommitRequest).node_id == SECOND


def test_broken_second_connection_does_not_end_the_join(member: Any) -> None:
    m = member(0)
    m.rebalance()
    done = commit(m)
    m.fail(OffsetCommitRequest, KafkaConnectionError("gone"))
    assert m.coordinator.coordinator_id == FIRST
    assert not done.is_done  # retriable: tried again
    m.joined(0)
    m.poll()
    assert m.owned == [0]


def test_auto_commit_precedes_join_group_and_is_not_awaited(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.rebalance()
    assert list(m.requests())[:2] == ["OffsetCommit", "JoinGroup"]
    assert {request.node_id for request in m.sent[:2]} == {FIRST}
    assert m.coordinator.config["enable_auto_commit"]


def test_listeners_before_a_join_see_auto_commit_on_and_commit_as_inherited(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their own commits are awaited."""
    m = member(0, auto_commit=True)
    seen: list[bool] = []

    async def flush(_revoked: Any) -> None:
        seen.append(m.coordinator.config["enable_auto_commit"])
        await m.coordinator._commit_offsets_sync_async({T0: OffsetAndMetadata(150, "", -1)}, 30_000)
        seen.append(False)

    monkeypatch.setattr(m.listener, "on_partitions_revoked", flush)
    m.consumer.subscribe(["u"], listener=m.listener)
    m.in_background(m.coordinator.ensure_active_group_async, 0)
    m.answer_commit()
    assert [sent.offsets for sent in m.of(OffsetCommitRequest)] == [{0: 100}, {0: 150}]
    assert seen == [True]
    m.answer_commit()
    assert seen == [True, False]


def test_records_delivered_during_the_join_are_committed_before_they_are_given_away(member: Any) -> None:
    m = member(0, 1, auto_commit=True)
    m.rebalance()
    m.answer_commit()
    m.process(1, to=130)
    m.process(0, to=140)
    m.joined(0)
    m.polling = True
    m.in_background(m.coordinator.ensure_active_group_async, 0)  # the part of poll() that waits
    sent = m.open(OffsetCommitRequest)
    assert (sent.offsets, sent.request.generation_id_or_member_epoch) == ({0: 140, 1: 130}, 8)
    assert m.listener.heard == []
    m.answer_commit()
    assert m.listener.heard == [("revoked", [1])]


def test_rebalance_that_was_joined_without_poll_does_not_delay_auto_commit(member: Any) -> None:
    """Applying the assignment restarts the interval; a crash must not repeat more records."""
    m = member(0, auto_commit=True)
    m.beat(REBALANCE)
    m.process(0, to=140)
    m.joined(0, 1)
    m.poll()
    assert m.listener.heard == [("assigned", [1])]  # not waited for
    assert m.open(OffsetCommitRequest).offsets == {0: 140}


def test_failed_commit_before_revoking_is_a_warning(
    member: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(joins, "_COMMIT_MS", 20)
    m = member(0, 1, auto_commit=True)
    m.rebalance()
    m.joined(0)
    m.poll()
    assert "commit before revoking partitions failed" in caplog.text
    assert m.listener.heard == [("revoked", [1])]


def test_nothing_is_committed_for_a_consumer_that_commits_itself(member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
    m.joined(0)
    m.poll()
    assert m.of(OffsetCommitRequest) == []


# --- subscriptions


def test_unsubscribed_topics_are_held_back_and_revoked_before_the_join(member: Any) -> None:
    m = member(0, 1)
    m.consumer.subscribe(["u"], listener=m.listener)
    m.poll()
    assert m.listener.heard == [("revoked", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}


def test_topics_unsubscribed_during_a_join_are_held_back_until_they_are_revoked(member: Any) -> None:
    m = member(0, 1)
    m.rebalance()
    m.consumer.subscribe(["u"], listener=m.listener)
    assert m.poll()
    assert not m.consumer._subscription.fetchable_partitions()
    m.joined(0, 1)
    m.poll()
    assert m.listener.heard == [("revoked", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}


def test_topic_subscribed_again_during_the_join_is_delivered_again(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.consumer.subscribe(["u"], listener=m.listener)
    m.poll()
    m.consumer.subscribe(["t"], listener=m.listener)
    m.poll()
    assert m.consumer._subscription.fetchable_partitions() == [T0]


def test_pattern_waits_for_metadata_and_delivers_meanwhile(member: Any) -> None:
    m = member(0)
    m.consumer._subscription.subscribed_pattern = object()
    m.rebalance()
    assert m.poll()
    assert m.of(JoinGroupRequest) == []


def test_topic_subscribed_again_before_any_join_is_delivered_again(member: Any) -> None:
    """Without a coordinator no join begins, and after that none is needed."""
    m = member(0)
    m.coordinator.coordinator_id = None
    m.consumer.subscribe(["u"], listener=m.listener)
    m.poll()
    assert not m.consumer._subscription.fetchable_partitions()
    m.coordinator.coordinator_id = FIRST
    m.consumer.subscribe(["t"], listener=m.listener)
    m.poll()
    assert m.of(JoinGroupRequest) == []
    assert m.consumer._subscription.fetchable_partitions() == [T0]


def test_partitions_assigned_by_hand_are_never_held_back(member: Any) -> None:
    m = member()
    m.consumer.unsubscribe()
    m.consumer.assign([T0])
    m.consumer.seek(T0, 100)
    m.poll()
    assert m.consumer._subscription.fetchable_partitions() == [T0]


@pytest.mark.parametrize("fails", [False, True])
def test_pattern_joins_with_metadata_that_comes_between_two_polls(
    fails: bool, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each poll waits for a slice only; a slow answer must not be requested again and again."""
    m = member(0)
    updates: list[Any] = []

    def request_update() -> Any:
        updates.append(Future())
        return updates[-1]

    monkeypatch.setattr(m.coordinator._cluster, "request_update", request_update)
    m.consumer._subscription.subscribed_pattern = object()
    m.rebalance()
    assert m.poll()
    if fails:
        updates[0].failure(KafkaConnectionError("gone"))
        m.poll()
        m.poll()
    updates[-1].success(None)
    m.poll()
    assert len(updates) == 1 + fails
    m.joined(0)
    m.poll()
    m.rebalance()
    assert len(m.of(JoinGroupRequest)) == 1  # fresh metadata for each join
    assert len(updates) == 2 + fails


def test_unsubscribe_during_a_join_leaves_over_the_second_connection(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.consumer._subscription.unsubscribe()
    left = m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.open(LeaveGroupRequest).node_id == SECOND
    m.answer_leave()
    assert left.succeeded()
    assert m.coordinator.coordinator_id == FIRST
    m.answer_join(UnknownMemberIdError.errno)
    m.consumer.subscribe(["t"], listener=m.listener)
    m.poll()
    m.joined(5)
    m.poll()
    assert m.owned == [5]


def test_requests_while_the_member_leaves_take_the_same_second_connection(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.in_background(m.coordinator.maybe_leave_group_async)
    commit(m)
    assert {m.open(kind).node_id for kind in (LeaveGroupRequest, OffsetCommitRequest)} == {SECOND}
    m.answer_leave()


def test_close_during_a_join_leaves_over_the_second_connection(member: Any) -> None:
    m = member(0)
    m.rebalance()
    m.polling = True  # close() may call listeners, too
    m.in_background(m.coordinator._on_close_prepare_async)
    m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.listener.heard == [("revoked", [0])]
    assert m.open(LeaveGroupRequest).node_id == SECOND
    m.answer_leave()


def test_settled_member_leaves_over_the_first_connection(member: Any) -> None:
    m = member(0)
    m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.open(LeaveGroupRequest).node_id == FIRST
    m.answer_leave()


def test_only_join_and_sync_use_the_first_connection_during_a_join(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.rebalance()
    first = len(m.sent)
    commit(m)
    m.in_background(m.coordinator.fetch_committed_offsets_async, [T0], 100)
    m.answer_join()
    kinds = {type(request.request) for request in m.sent[first:] if request.node_id == FIRST}
    assert kinds <= {SyncGroupRequest}
