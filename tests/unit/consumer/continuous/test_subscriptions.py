"""A continuous member changes its subscription, leaves or closes during a join."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import IllegalStateError, KafkaConnectionError, UnknownMemberIdError
from kafka.future import Future
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

from tests.support.waiting import until
from tests.unit.consumer.continuous.scripted import FIRST, SECOND
from tests.unit.consumer.continuous.situations import REBALANCE, T0, commit, rebalancing


def test_unsubscribed_topics_are_held_back_and_revoked_before_the_join(member: Any) -> None:
    m = member(0, 1)
    m.consumer.subscribe(["u"], listener=m.listener)
    m.poll()
    assert m.listener.heard == [("revoked", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}


def test_topics_unsubscribed_during_a_join_are_held_back_until_they_are_revoked(member: Any) -> None:
    m = rebalancing(member, 0, 1)
    m.consumer.subscribe(["u"], listener=m.listener)
    assert m.poll()
    assert not m.consumer._subscription.fetchable_partitions()
    m.settle(0, 1)
    assert m.listener.heard == [("revoked", [0, 1])]
    assert m.open(JoinGroupRequest).claims == {}


def test_topic_subscribed_again_during_the_join_is_delivered_again(member: Any) -> None:
    m = rebalancing(member)
    m.consumer.subscribe(["u"], listener=m.listener)
    m.poll()
    m.consumer.subscribe(["t"], listener=m.listener)
    m.poll()
    assert m.consumer._subscription.fetchable_partitions() == [T0]


def test_topic_subscribed_again_before_any_join_is_delivered_again(member: Any) -> None:
    """No join starts while the coordinator is unknown.

    When it is found, the subscription is the old one again.
    """
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
    """Each poll waits only a short time; a slow answer must not be requested again and again."""
    m = member(0)
    updates: list[Any] = []

    def request_update() -> Any:
        updates.append(Future())
        return updates[-1]

    monkeypatch.setattr(m.coordinator._cluster, "request_update", request_update)
    m.consumer._subscription.subscribed_pattern = object()
    m.rebalance()
    assert m.poll()
    assert m.of(JoinGroupRequest) == []
    if fails:
        updates[0].failure(KafkaConnectionError("gone"))
        m.poll()
        m.poll()
    updates[-1].success(None)
    m.poll()
    assert len(updates) == 1 + fails
    m.settle(0)
    m.rebalance()
    assert len(m.of(JoinGroupRequest)) == 1  # fresh metadata for each join
    assert len(updates) == 2 + fails


def test_pattern_subscriber_without_partitions_survives_a_failed_metadata_request(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = member(retry_backoff_ms=11)
    m.consumer._subscription.subscribed_pattern = object()
    gone = KafkaConnectionError("gone")
    monkeypatch.setattr(m.coordinator._cluster, "request_update", lambda: Future().failure(gone))
    pauses = []
    sleep = m.coordinator._net.sleep

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(m.coordinator._net, "sleep", pause)
    for timeout_ms in (7, 60_000):
        assert not m.poll(timeout_ms)
    assert {0.007, 0.011} <= set(pauses)  # the timeout, then retry_backoff_ms; others may pause, too
    m.consumer._subscription.subscribed_pattern = None
    m.poll()
    assert m.settle(0)
    assert m.owned == [0]


def test_retriable_error_of_a_commit_callback_is_raised(member: Any) -> None:
    m = member()

    def fail(*_: Any) -> None:
        raise KafkaConnectionError("the callback raises the error of its commit")

    m.coordinator.completed_offset_commits.append((fail, {}, None))
    with pytest.raises(KafkaConnectionError):
        m.poll()


def test_retriable_error_without_a_pattern_is_raised(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a pattern's metadata request is tried again; a dead heartbeat loop, for example, is not."""
    m = member()

    def fail(*_: Any, **__: Any) -> bool:
        raise KafkaConnectionError("of the heartbeat loop")

    monkeypatch.setattr(ConsumerCoordinator, "poll", fail)
    with pytest.raises(KafkaConnectionError):
        m.poll()


def test_unsubscribe_during_a_join_leaves_over_the_second_connection(member: Any) -> None:
    m = rebalancing(member)
    m.consumer._subscription.unsubscribe()
    left = m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.open(LeaveGroupRequest).node_id == SECOND
    m.answer_leave()
    assert left.succeeded()
    assert m.coordinator.coordinator_id == FIRST
    m.answer_join(UnknownMemberIdError.errno)
    m.consumer.subscribe(["t"], listener=m.listener)
    m.poll()
    m.settle(5)
    assert m.owned == [5]


def test_requests_while_the_member_leaves_take_the_same_second_connection(member: Any) -> None:
    m = rebalancing(member)
    m.in_background(m.coordinator.maybe_leave_group_async)
    commit(m)
    assert {m.open(kind).node_id for kind in (LeaveGroupRequest, OffsetCommitRequest)} == {SECOND}
    m.answer_leave()


def test_close_during_a_join_leaves_over_the_second_connection(member: Any) -> None:
    m = rebalancing(member)
    m.polling = True  # close() may call listeners, too
    m.in_background(m.coordinator._on_close_prepare_async)
    m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.listener.heard == [("revoked", [0])]
    assert m.open(LeaveGroupRequest).node_id == SECOND
    m.answer_leave()


def test_member_leaves_over_the_first_connection_if_the_second_has_just_failed(
    member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafka-python sends no LeaveGroup to a node that it may not connect to yet."""
    m = rebalancing(member)
    monkeypatch.setattr(m.coordinator._client, "connection_delay", lambda node_id: float(node_id == SECOND))
    m.in_background(m.coordinator.maybe_leave_group_async)
    assert m.open(LeaveGroupRequest).node_id == FIRST
    m.answer_leave()
    assert m.coordinator.coordinator_id == FIRST


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


@pytest.mark.parametrize("step", ["reset_group_subscription", "group_protocols"])
def test_join_that_begins_while_the_application_unsubscribes_raises_in_no_later_poll(
    step: str, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = member(0)

    def refuse(*_: Any) -> Any:
        raise IllegalStateError("not subscribed")

    owner = m.coordinator if step == "group_protocols" else m.consumer._subscription
    monkeypatch.setattr(owner, step, refuse)
    beaten = m.in_background(m.coordinator._do_heartbeat)
    m.answer(m.open(HeartbeatRequest), SimpleNamespace(error_code=REBALANCE))
    assert beaten.succeeded()
    assert m.of(JoinGroupRequest) == []
    monkeypatch.undo()
    until(lambda: m.poll() and m.of(JoinGroupRequest))  # kafka-python pauses before it repeats
    assert m.open(JoinGroupRequest).claims == {"t": [0]}


def test_close_begins_no_join_from_its_first_step(member: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step is the commit."""
    m = rebalancing(member)
    seen = []
    monkeypatch.setattr(ConsumerCoordinator, "close", lambda self, **_: seen.append(self._join.is_closing))
    m.coordinator.close()
    assert seen == [True]
