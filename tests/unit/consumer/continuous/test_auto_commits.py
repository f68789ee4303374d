"""Auto-commit of a continuous member during a join."""

from __future__ import annotations

import time
from typing import Any

import pytest
from kafka.protocol.consumer import OffsetCommitRequest
from kafka.structs import OffsetAndMetadata

from kafka_assignors.consumer.continuous import joins
from tests.unit.consumer.continuous.scripted import FIRST
from tests.unit.consumer.continuous.situations import REBALANCE, T0, rebalancing


def test_auto_commit_precedes_join_group_and_is_not_awaited(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.rebalance()
    assert list(m.requests())[:2] == ["OffsetCommit", "JoinGroup"]
    assert {request.node_id for request in m.sent[:2]} == {FIRST}
    assert m.coordinator.config["enable_auto_commit"]


def test_auto_commit_without_partitions_sends_nothing_before_join_group(member: Any) -> None:
    m = member(0, auto_commit=True)
    m.consumer._subscription.assign_from_subscribed([])
    m.rebalance()
    assert list(m.requests()) == ["JoinGroup"]


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
    m.begin_poll()
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
    m.settle(0, 1)
    assert m.listener.heard == [("assigned", [1])]  # not waited for
    assert m.open(OffsetCommitRequest).offsets == {0: 140}


def test_failed_commit_before_revoking_is_a_warning(
    member: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(joins, "COMMIT_MS", 20)
    m = member(0, 1, auto_commit=True)
    m.rebalance()
    m.settle(0)
    (warning,) = [record.message for record in caplog.records if record.name == "kafka_assignors"]
    assert "an earlier commit got no response for 0.02 s" in warning  # a second one would wait behind it
    assert m.listener.heard == [("revoked", [1])]


def test_join_does_not_wait_for_offsets_of_a_deleted_topic(member: Any) -> None:
    """A broker refuses them, and kafka-python would repeat the commit for 5 s."""
    m = member(0, auto_commit=True)
    del m.coordinator._cluster._partitions["t"]
    m.consumer.subscribe(["u"], listener=m.listener)  # as a pattern's metadata update does
    started = time.monotonic()
    m.poll()
    assert time.monotonic() - started < 4
    assert list(dict.fromkeys(m.requests())) == ["OffsetCommit", "JoinGroup"]
    assert m.listener.heard == [("revoked", [0])]


def test_nothing_is_committed_for_a_consumer_that_commits_itself(member: Any) -> None:
    m = rebalancing(member, 0, 1)
    m.settle(0)
    assert m.of(OffsetCommitRequest) == []
