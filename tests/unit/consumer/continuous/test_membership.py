"""Until when a continuous member may deliver, and what confirms its membership."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaConnectionError,
    NotCoordinatorError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest

from kafka_assignors.assignor.coordinator_access.consumer import (
    heartbeat_age_s,
    is_settled,
    stable_heartbeat_at,
)
from kafka_assignors.consumer.continuous.membership import _Patience
from tests.support.waiting import until
from tests.unit.consumer.continuous.scripted import SECOND, Scripted
from tests.unit.consumer.continuous.situations import rebalancing

REBALANCE = RebalanceInProgressError.errno
UNKNOWN, ILLEGAL, FENCED, NOT_COORDINATOR = (
    error.errno
    for error in (UnknownMemberIdError, IllegalGenerationError, FencedInstanceIdError, NotCoordinatorError)
)


def end_session(m: Scripted) -> None:
    """The process was suspended for longer than a session."""
    m.coordinator._confirmed_at -= m.coordinator.config["session_timeout_ms"] / 1000


# --- after the session


def waiting_after_the_session(m: Scripted) -> None:
    """An assignment has arrived, which takes one partition and gives another, and the session is over."""
    m.beat(REBALANCE)
    m.joined(0, 2)
    end_session(m)
    assert not m.poll()
    assert (m.listener.heard, m.owned) == ([], [0, 1])


@pytest.mark.parametrize("auto_commit", [False, True])
def test_assignment_is_dropped_after_the_session(auto_commit: bool, member: Any) -> None:
    """Other members may have its partitions by now."""
    m = member(0, 1, auto_commit=auto_commit)
    waiting_after_the_session(m)
    assert m.open(JoinGroupRequest).claims == {"t": [0, 1]}
    assert len(m.of(OffsetCommitRequest)) == auto_commit, "only the one before the join"


def test_member_that_the_group_kept_applies_the_next_assignment(member: Any) -> None:
    m = member(0, 1)
    waiting_after_the_session(m)
    assert m.settle(0, 1, 3)
    assert (m.listener.heard, m.owned) == ([("assigned", [3])], [0, 1, 3])


def test_member_that_the_group_removed_loses_its_partitions(member: Any) -> None:
    m = member(0, 1)
    waiting_after_the_session(m)
    m.answer_join(UNKNOWN)
    m.poll()
    m.poll()
    assert (m.listener.heard, m.owned) == ([("lost", [0, 1])], [])
    m.settle(4)
    assert m.owned == [4]


def test_first_assignment_is_dropped_after_the_session(member: Any) -> None:
    m = member()
    m.poll()
    m.joined(0)
    end_session(m)
    m.poll()
    assert (m.listener.heard, m.owned) == ([], [])
    m.poll()
    m.settle(0)
    assert m.owned == [0]


def test_settled_member_delivers_nothing_after_its_session(member: Any) -> None:
    """It need not wait for the answer to its next heartbeat."""
    m = member(0)
    assert m.poll()
    end_session(m)
    assert not m.poll()
    assert m.open(JoinGroupRequest).claims == {"t": [0]}
    m.beat()  # of a broker that it has found again
    assert not m.poll()
    assert m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


def test_settled_member_of_a_pattern_delivers_nothing_while_it_waits_for_metadata(member: Any) -> None:
    m = member(0)
    m.consumer._subscription.subscribed_pattern = object()
    end_session(m)
    assert not m.poll()
    assert m.of(JoinGroupRequest) == []


def test_fenced_member_gets_the_error_after_its_session(member: Any) -> None:
    """kafka-python only stops its heartbeats."""
    m = member(0, group_instance_id="i")
    m.beat(FENCED)
    end_session(m)
    m.poll()
    m.answer_join(FENCED)
    with pytest.raises(FencedInstanceIdError):
        m.poll()


def test_heartbeat_answered_after_the_session_proves_no_membership(member: Any) -> None:
    """A broker that loads its groups answers heartbeats of former members, too."""
    m = member(0, beats=False)
    m.beat()
    assert stable_heartbeat_at(m.consumer) is not None
    end_session(m)
    m.beat()
    assert heartbeat_age_s(m.consumer) in (None, math.inf)
    assert stable_heartbeat_at(m.consumer) is None
    m.settle(0)
    m.beat()
    assert stable_heartbeat_at(m.consumer) is not None
    assert m.listener.heard == []


# --- without a coordinator, or a confirmation


def test_member_without_a_coordinator_delivers_for_a_session(member: Any) -> None:
    m = member(0)
    m.beat()
    m.coordinator.coordinator_id = None
    assert m.poll()
    end_session(m)
    assert not m.poll()


@pytest.mark.parametrize(("code", "counts"), [(0, True), (REBALANCE, True), (UNKNOWN, False)])
def test_long_join_is_confirmed_over_the_second_connection(code: int, counts: bool, member: Any) -> None:
    """Otherwise a stateful member would stop committing while it waits for a slow one."""
    m = member(0, heartbeat_interval_ms=10, beats=False)
    m.beat()
    heard = m.coordinator._confirmed_at
    m.rebalance()
    until(lambda: len(m.of(HeartbeatRequest)) == 2)
    sent = m.open(HeartbeatRequest)
    assert (sent.node_id, sent.request.generation_id) == (SECOND, 7)
    m.answer(sent, SimpleNamespace(error_code=code))
    assert (m.coordinator._confirmed_at > heard) is counts
    m.settle(0)


def test_join_is_confirmed_in_each_of_its_rounds(member: Any) -> None:
    """SyncGroup reports that others began another round: JoinGroup is sent again by the same task."""
    m = member(0, heartbeat_interval_ms=10, beats=False)
    m.rebalance()
    m.answer_join()
    m.answer_sync(code=REBALANCE)
    m.open(JoinGroupRequest)

    def heard(generation: int) -> bool:
        for sent in m.of(HeartbeatRequest):
            if not sent.future.is_done:
                before = m.coordinator._confirmed_at
                m.answer(sent, SimpleNamespace(error_code=REBALANCE))
                if sent.request.generation_id == generation:
                    return bool(m.coordinator._confirmed_at > before)
        return False

    until(lambda: heard(8))
    m.joined(0)


def test_commit_is_confirmed_during_a_join(member: Any) -> None:
    """`heartbeat_age_s` knows the membership until the join is over, and after it."""
    m = member(0)
    m.beat()
    assert is_settled(m.consumer)
    m.rebalance()
    assert not is_settled(m.consumer)
    assert heartbeat_age_s(m.consumer) is not None
    m.joined(0)
    assert heartbeat_age_s(m.consumer) is not None
    assert not is_settled(m.consumer)
    m.beat(UNKNOWN)
    assert heartbeat_age_s(m.consumer) is None
    assert not is_settled(m.consumer)


def test_unanswered_heartbeat_does_not_confirm_the_membership(member: Any) -> None:
    """Its age counts from the last answered heartbeat."""
    m = member(0)
    m.beat()
    heard = m.coordinator._confirmed_at
    m.in_background(m.coordinator._do_heartbeat)
    m.fail(HeartbeatRequest, KafkaConnectionError("gone"))
    assert m.coordinator._confirmed_at == heard


def test_member_suspended_in_a_join_delivers_nothing_before_it_is_confirmed(member: Any) -> None:
    """Others may own its partitions by now."""
    m = rebalancing(member)
    assert m.poll()
    end_session(m)
    assert not m.poll(30)
    m.answer_join()
    assert not m.poll()  # an answer that it reads now may be as old
    m.answer_sync(0)
    assert m.poll()


def test_lost_member_without_a_coordinator_delivers_nothing(member: Any) -> None:
    m = member(0)
    m.beat()
    m.beat(UNKNOWN)
    m.coordinator.coordinator_id = None
    assert not m.poll()


# --- heartbeats that the broker refuses during a join


def joining(member: Any, *owned: int, **config: Any) -> Scripted:
    """A member that has sent JoinGroup, and heartbeats often."""
    m: Scripted = member(*owned, heartbeat_interval_ms=10, **config, beats=False)
    m.rebalance()
    assert m.poll()
    return m


def answer_heartbeat(m: Scripted, code: int) -> None:
    """Answer the next heartbeat of a join that is sent with the present generation."""
    is_present = False
    while not is_present:
        until(lambda: any(not sent.future.is_done for sent in m.of(HeartbeatRequest)))
        sent = m.open(HeartbeatRequest)
        assert sent.node_id == SECOND
        is_present = sent.request.generation_id == m.coordinator._generation.generation_id
        m.answer(sent, SimpleNamespace(error_code=code if is_present else REBALANCE))


@pytest.mark.parametrize("code", [UNKNOWN, FENCED])
def test_member_that_the_broker_does_not_know_delivers_nothing(code: int, member: Any) -> None:
    m = joining(member, 0)
    answer_heartbeat(m, code)
    assert not m.poll()
    assert heartbeat_age_s(m.consumer) in (None, math.inf)
    answer_heartbeat(m, REBALANCE)
    assert not m.poll(), "a broker that loads its groups answers heartbeats of former members, too"
    assert m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


@pytest.mark.parametrize("step", [JoinGroupRequest, SyncGroupRequest])
@pytest.mark.parametrize("code", [UNKNOWN, FENCED, ILLEGAL, NOT_COORDINATOR])
def test_join_whose_answer_is_lost_is_repeated(code: int, step: type, member: Any) -> None:
    """On a connection that transfers nothing JoinGroup would wait for more than `max_poll_interval_ms`.

    For a generation that is over the answer, with the next one, may still be under way.
    """
    m = joining(member, 0)
    if step is SyncGroupRequest:
        m.answer_join()
    answer_heartbeat(m, code)
    assert len(m.of(JoinGroupRequest)) == 1
    assert m.poll() is (code in {ILLEGAL, NOT_COORDINATOR})
    answer_heartbeat(m, code)
    until(lambda: len(m.of(JoinGroupRequest)) == 2)
    assert m.of(step)[0].future.failed()
    m.settle(0, 1)
    assert (m.listener.heard, m.owned) == ([("assigned", [1])], [0, 1])


def test_join_is_repeated_once_for_a_generation_that_is_over(member: Any) -> None:
    """The broker may hold the second JoinGroup until others have joined, and has a later generation."""
    m = joining(member, 0)
    for _ in range(2):
        answer_heartbeat(m, ILLEGAL)
    until(lambda: len(m.of(JoinGroupRequest)) == 2)
    for _ in range(4):
        answer_heartbeat(m, ILLEGAL)
    m.settle(0)
    assert m.owned == [0]
    assert len(m.of(JoinGroupRequest)) == 2


def test_join_over_a_connection_that_transfers_nothing_is_repeated(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeats take the other connection, so the broker would wait for this member."""
    over = iter([False, True])  # then never again
    monkeypatch.setattr(_Patience, "is_over", lambda *_: next(over, False))
    m = joining(member, 0)
    answer_heartbeat(m, REBALANCE)
    until(lambda: len(m.of(JoinGroupRequest)) == 2)
    assert m.settle(0)
    assert (m.listener.heard, m.owned) == ([], [0])


def test_patience_doubles_for_a_response_and_needs_a_member_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another generation shows that a response has come."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    joined = Generation(7, "m", "sticky")
    patience, over = _Patience(joined, 10), []
    for second in range(100):
        now = float(second)
        if patience.is_over(joined):
            over.append(second)
    assert over == [10, 30, 70]
    assert not patience.is_over(Generation(8, "m", "sticky"))
    nameless = Generation(-1, "", None)
    patience = _Patience(nameless, 10)
    now += 11
    assert not patience.is_over(nameless)


def test_refused_heartbeats_of_two_steps_do_not_repeat_the_join(member: Any) -> None:
    """JoinGroup was answered in between."""
    m = joining(member, 0)
    answer_heartbeat(m, ILLEGAL)
    m.answer_join()
    answer_heartbeat(m, ILLEGAL)
    answer_heartbeat(m, REBALANCE)
    answer_heartbeat(m, ILLEGAL)
    m.answer_sync(0)
    m.poll()
    assert len(m.of(JoinGroupRequest)) == 1
    assert m.owned == [0]


def test_heartbeat_before_the_first_join_is_over_proves_nothing(member: Any) -> None:
    """The broker may handle it before JoinGroup, which comes over the other connection."""
    m = member(heartbeat_interval_ms=10, beats=False)
    m.coordinator.reset_generation("m")
    m.poll()
    answer_heartbeat(m, UNKNOWN)
    answer_heartbeat(m, UNKNOWN)
    m.settle(0)
    assert m.owned == [0]
    assert len(m.of(JoinGroupRequest)) == 1


def test_member_whose_join_has_not_begun_delivers_nothing_after_its_session(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator may be forgotten meanwhile, and the I/O thread begins a join later."""
    m = member(0)
    m.coordinator.request_rejoin()
    monkeypatch.setattr(m.coordinator, "ensure_active_group", lambda **_: False)
    assert m.poll()
    end_session(m)
    assert not m.poll()
