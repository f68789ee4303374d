"""Laws of a continuous member under random polls, work, answers and losses."""

from __future__ import annotations

import socket
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import KafkaConsumer
from kafka.errors import (
    IllegalGenerationError,
    KafkaConnectionError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.future import Future
from kafka.protocol.consumer import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors import CooperativeStickyAssignor, make_continuous
from tests.support.searching import times
from tests.unit.consumer.continuous.scripted import FIRST, Scripted, Sent


class Watched(Scripted):
    """A member whose commits are answered at once, and whose requests are checked when they are sent.

    Attributes:
        given_up_to: partition -> the offset up to which the application has been given records.
        committed: partition -> offset.
        fallen: commits of an offset below the committed one.
    """

    def __init__(self, consumer: Any, *owned: int) -> None:
        self.given_up_to = dict.fromkeys(owned, 100)
        self.committed: dict[int, int] = {}
        self.fallen: list[tuple[int, int]] = []
        super().__init__(consumer, *owned)

    def _send(self, request: Any, node_id: Any = None, request_timeout_ms: Any = None) -> Any:
        joining = [
            request
            for request in self.of(JoinGroupRequest) + self.of(SyncGroupRequest)
            if not request.future.is_done
        ]
        if isinstance(request, JoinGroupRequest):
            assert not joining
            assert Sent(request, node_id, None).claims.get("t", []) == self.owned
        elif not isinstance(request, SyncGroupRequest) and joining:
            assert node_id != FIRST, f"{type(request).__name__} waits behind JoinGroup"
        future = super()._send(request, node_id, request_timeout_ms)
        if isinstance(request, OffsetCommitRequest):
            is_completing = any(not sync.future.is_done for sync in self.of(SyncGroupRequest))
            if not is_completing:
                for partition, offset in self.sent[-1].offsets.items():
                    if offset < self.committed.get(partition, 0):
                        self.fallen.append((partition, offset))
                self.committed |= self.sent[-1].offsets
            code = REBALANCE if is_completing else 0
            topics = [(t.name, [(p.partition_index, code) for p in t.partitions]) for t in request.topics]
            return Future().success(SimpleNamespace(topics=topics))
        return future


@contextmanager
def watched(*owned: int) -> Iterator[Watched]:
    """A continuous member whose heartbeats are due on the test's command."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        consumer = KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{server.getsockname()[1]}",
            api_version=(2, 5),
            group_id="g",
            partition_assignment_strategy=[CooperativeStickyAssignor],
            retry_backoff_ms=1,
        )
        assert make_continuous(consumer)
        consumer._coordinator._maybe_start_heartbeat_loop = lambda: None
        member = Watched(consumer, *owned)
        try:
            yield member
        finally:
            member.end()
            consumer.close()


class Play:
    """The application, the broker and the other members take turns; an impossible turn is skipped."""

    def __init__(self, member: Watched) -> None:
        self.member = member
        self.heard = 0

    def poll(self, timeout_ms: int) -> None:
        """The application has processed its records, and polls."""
        member = self.member
        before, began = dict(member.given_up_to), time.monotonic()
        member.poll(timeout_ms)
        assert time.monotonic() - began < timeout_ms / 1000 + 5.0
        for kind, partitions in member.listener.heard[self.heard :]:
            for partition in partitions:
                if kind == "revoked":
                    assert member.committed.get(partition) == before[partition]
                if kind in {"revoked", "lost"}:
                    del member.given_up_to[partition]
                    member.committed.pop(partition, None)
                if kind == "assigned":
                    member.given_up_to[partition] = 100
                    member.process(partition, to=100)
        self.heard = len(member.listener.heard)

    def work(self, number: int) -> None:
        """The application receives ten more records of a partition."""
        if owned := self.member.owned:
            partition = owned[number % len(owned)]
            self.member.given_up_to[partition] += 10
            self.member.process(partition, to=self.member.given_up_to[partition])

    def commit(self) -> None:
        """The application commits its positions."""
        offsets = {
            TopicPartition("t", partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in self.member.given_up_to.items()
        }
        self.member.in_background(self.member.coordinator._send_offset_commit_request, offsets)

    def rejoin(self) -> None:
        """The leader or a watcher requests a rebalance."""
        self.member.coordinator.request_rejoin()

    def join(self, code: int) -> None:
        """JoinGroup is answered."""
        if self._waits_for(JoinGroupRequest):
            self.member.answer_join(code)

    def sync(self, given: Collection[int], code: int) -> None:
        """SyncGroup is answered."""
        if self._waits_for(SyncGroupRequest):
            self.member.answer_sync(*given, code=code)

    def cut(self) -> None:
        """The connection breaks."""
        for kind in (JoinGroupRequest, SyncGroupRequest):
            if self._waits_for(kind):
                self.member.fail(kind, KafkaConnectionError("gone"))
                return

    def beat(self, code: int) -> None:
        """A heartbeat is answered."""
        if self.member.coordinator._heartbeat_enabled and self.member.coordinator.stable():
            self.member.beat(code)

    def check(self) -> None:
        """One join at a time; the assignment changes in ``poll`` only, and positions are contiguous."""
        joins = [*self.member.of(JoinGroupRequest), *self.member.of(SyncGroupRequest)]
        assert sum(not request.future.is_done for request in joins) <= 1
        assert self.member.owned == sorted(self.member.given_up_to)
        assert self.member.positions == self.member.given_up_to
        assert not self.member.fallen

    def _waits_for(self, kind: type) -> bool:
        return any(not request.future.is_done for request in self.member.of(kind))


PARTITIONS = st.frozensets(st.integers(0, 4), max_size=4)
UNKNOWN, ILLEGAL, REBALANCE = (
    error.errno for error in (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError)
)
TURNS = st.one_of(
    st.tuples(st.just("poll"), st.sampled_from([0, 0, 30])),
    st.tuples(st.just("work"), st.integers(0, 4)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("rejoin")),
    st.tuples(st.just("join"), st.sampled_from([0, 0, 0, UNKNOWN, REBALANCE])),
    st.tuples(st.just("sync"), PARTITIONS, st.sampled_from([0, 0, 0, 0, REBALANCE, UNKNOWN, ILLEGAL])),
    st.tuples(st.just("sync"), PARTITIONS, st.just(0)),
    st.tuples(st.just("cut")),
    st.tuples(st.just("beat"), st.sampled_from([0, REBALANCE, REBALANCE, UNKNOWN, ILLEGAL])),
)


@settings(max_examples=times(1.5), deadline=None)
@given(PARTITIONS, st.lists(TURNS, max_size=50))
def test_laws_hold_under_random_events(owned: Collection[int], turns: list[tuple[Any, ...]]) -> None:
    with watched(*owned) as member:
        play = Play(member)
        for name, *arguments in turns:
            getattr(play, name)(*arguments)
            play.check()


@given(st.integers(1, 10))
@settings(max_examples=5, deadline=None)
def test_member_settles_after_a_storm(rounds: int) -> None:
    """However often others begin new rounds, one poll applies the last one."""
    with watched(0, 1) as member:
        for _ in range(rounds):
            member.beat(REBALANCE)
            member.joined(0, 1, 2)
        member.poll()
        assert member.owned == [0, 1, 2]
        assert len(member.of(JoinGroupRequest)) == rounds
