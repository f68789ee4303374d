"""Commits of a continuous member during a join."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.coordinator.base import Generation
from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    KafkaConnectionError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.protocol.consumer import JoinGroupRequest, OffsetCommitRequest
from kafka.structs import OffsetAndMetadata

from kafka_assignors.assignor.coordinator_access.consumer import heartbeat_age_s
from kafka_assignors.consumer.continuous import joins, offsets
from tests.support.waiting import until
from tests.unit.consumer.continuous.scripted import FIRST, SECOND
from tests.unit.consumer.continuous.situations import REBALANCE, STALE, T0, closing, commit, rebalancing


@pytest.mark.parametrize(
    ("is_answered", "node_id", "generation"),
    [(False, SECOND, 7), (True, FIRST, 8)],
    ids=["during JoinGroup", "while the assignment waits"],
)
def test_commit_takes_the_connection_and_the_generation_that_the_broker_accepts(
    is_answered: bool, node_id: str, generation: int, member: Any
) -> None:
    m = rebalancing(member)
    if is_answered:
        m.joined(0)
    done = commit(m)
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.request.generation_id_or_member_epoch) == (node_id, generation)
    assert sent.offsets == {0: 150}
    m.answer_commit()
    assert done.succeeded()


@pytest.mark.parametrize("is_closing", [False, True], ids=["open", "closing"])
@pytest.mark.parametrize("code", STALE)
def test_commit_overtaken_by_a_generation_is_sent_once_more(code: int, is_closing: bool, member: Any) -> None:
    m = rebalancing(member)
    if is_closing:
        closing(m)
    done = commit(m)
    m.answer_commit(code)
    assert not done.is_done
    m.joined(0)
    assert m.open(OffsetCommitRequest).request.generation_id_or_member_epoch == 8
    m.answer_commit()
    assert done.succeeded()
    assert m.coordinator._generation.generation_id == 8


@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "waiting"])
@pytest.mark.parametrize("code", STALE)
def test_commit_that_is_overtaken_by_the_assignment_raises_rebalance_in_progress(
    code: int, is_applied: bool, member: Any
) -> None:
    """The partition may have another owner by now, whose offsets are newer."""
    m = rebalancing(member)
    if is_applied:
        done = commit(m)
        m.settle(0)
    else:
        m.joined(0)
        done = commit(m)
        m.answer_commit(code)
    m.answer_commit(code)
    assert isinstance(done.exception, RebalanceInProgressError)
    assert len(m.of(OffsetCommitRequest)) == (1 if is_applied else 2)
    assert not m.coordinator._generation.is_lost()


def test_commit_of_a_join_that_fails_raises_rebalance_in_progress(member: Any) -> None:
    m = rebalancing(member)
    done = commit(m)
    m.answer_commit(STALE[0])
    closing(m)
    m.fail(JoinGroupRequest, KafkaConnectionError("gone"))
    assert isinstance(done.exception, RebalanceInProgressError)


def test_commit_of_a_removed_member_fails_for_good(member: Any) -> None:
    m = rebalancing(member)
    done = commit(m)
    m.answer_commit(UnknownMemberIdError.errno)
    assert isinstance(done.exception, CommitFailedError)


def test_commit_after_the_membership_was_lost_is_never_sent(member: Any) -> None:
    """Its partitions may have other owners, whose offsets are newer."""
    m = rebalancing(member)
    m.answer_join(UnknownMemberIdError.errno)
    m.poll()
    m.poll()
    assert m.listener.heard == [("lost", [0])]
    m.open(JoinGroupRequest)
    assert heartbeat_age_s(m.consumer) is None, "it is not confirmed while it joins"
    sent = commit(m)
    m.joined(0)
    assert isinstance(sent.exception, RebalanceInProgressError)
    assert m.of(OffsetCommitRequest) == []


@pytest.mark.parametrize("change", ["member", "partitions"])
def test_overtaken_commit_is_sent_again_only_by_the_owner(change: str, member: Any) -> None:
    m = rebalancing(member)
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


@pytest.mark.parametrize(("numbers", "again"), [([0], []), ([0, 1], [{1: 150}])])
def test_commit_is_sent_again_without_the_partitions_of_a_newer_one(
    numbers: list[int], again: list[dict[int, int]], member: Any
) -> None:
    """Another member begins a round in which the broker accepts the newer commit."""
    m = rebalancing(member, 0, 1)
    m.answer_join()
    older = commit(m, 150, *numbers)
    m.answer_commit(STALE[0])
    m.answer_sync(code=REBALANCE)
    newer = commit(m, 160)
    m.answer_commit()
    assert newer.succeeded()
    m.joined(0, 1)
    assert [sent.offsets for sent in m.of(OffsetCommitRequest)[1:]] == [{0: 160}, *again]
    for _ in again:
        m.answer_commit()
    assert isinstance(older.exception, RebalanceInProgressError)  # its caller cannot know about the rest


@pytest.mark.parametrize(("is_join_over", "node_id"), [(True, FIRST), (False, SECOND)])
def test_commit_waits_for_an_older_one_on_the_other_connection(
    is_join_over: bool, node_id: str, member: Any
) -> None:
    """That may still be connecting: the older commit would arrive after the newer one."""
    m = member(0)
    if is_join_over:
        m.rebalance()
        m.answer_join()
    older = commit(m, 150)
    if is_join_over:
        m.answer_sync(0)
    else:
        m.rebalance()
    newer = commit(m, 160)
    assert m.open(OffsetCommitRequest).offsets == {0: 150}
    m.answer_commit()
    sent = m.open(OffsetCommitRequest)
    assert (sent.node_id, sent.offsets) == (node_id, {0: 160})
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
    m = rebalancing(member)
    second_connection = m.coordinator._second_connection

    def forgotten(*args: Any) -> str:
        m.coordinator.coordinator_id = None
        return str(second_connection(*args))

    monkeypatch.setattr(m.coordinator, "_second_connection", forgotten)
    commit(m)
    assert m.open(OffsetCommitRequest).node_id == SECOND


def test_broken_second_connection_does_not_end_the_join(member: Any) -> None:
    m = rebalancing(member)
    done = commit(m)
    m.fail(OffsetCommitRequest, KafkaConnectionError("gone"))
    assert m.coordinator.coordinator_id == FIRST
    assert not done.is_done  # retriable: tried again
    m.settle(0)
    assert m.owned == [0]


@pytest.mark.parametrize("is_closing", [False, True], ids=["busy", "closing"])
def test_refused_commit_does_not_wait_for_a_long_join(
    is_closing: bool, member: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader may plan for long, or may have been killed before its SyncGroup."""
    monkeypatch.setattr(offsets, "_JOIN_MS", 1)
    m = rebalancing(member)
    if is_closing:
        closing(m)
    done = commit(m)
    m.answer_commit(REBALANCE)
    until(lambda: m.drain() or done.is_done)
    assert isinstance(done.exception, RebalanceInProgressError)


def test_follow_up_join_does_not_overtake_the_commit_of_a_revoked_partition(member: Any) -> None:
    """They take different connections, so the broker could refuse a commit that comes too late."""
    m = member(1, 0)
    m.rebalance()
    done = commit(m)
    m.joined(1)
    applied = m.begin_poll()
    assert (applied.is_done, m.listener.heard) == (False, [])
    m.answer_commit()
    assert (applied.is_done, done.succeeded()) == (True, True)
    assert m.listener.heard == [("revoked", [0])]


@pytest.mark.parametrize("others_own_it", [False, True])
def test_listener_commits_revoked_partitions_after_an_unanswered_commit(
    others_own_it: bool, member: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Until the next join they have no other owner, whose offsets would be newer."""
    monkeypatch.setattr(joins, "COMMIT_MS", 1)
    m = member(1, 0)
    last = []

    async def flush(_revoked: Any) -> None:
        commit_160 = {T0: OffsetAndMetadata(160, "", -1)}
        last.append(m.coordinator._manager.call_soon(m.coordinator._commit_offsets_sync_async, commit_160))

    monkeypatch.setattr(m.listener, "on_partitions_revoked", flush)
    m.rebalance()
    commit(m)
    m.joined(1)
    m.begin_poll()
    until(lambda: m.drain() or last)
    assert "partitions are revoked although an earlier commit got no response for 0.001 s" in caplog.text
    if others_own_it:
        m.poll()
        m.settle(1)
    m.answer_commit()
    if others_own_it:
        assert isinstance(last[0].exception, RebalanceInProgressError)
    else:
        assert m.open(OffsetCommitRequest).offsets == {0: 160}
        m.answer_commit()
        assert last[0].succeeded()
