"""Laws of a continuous member under random polls, work, answers and losses."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

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
from kafka_assignors.consumer.continuous import joins
from tests.support.searching import times
from tests.unit.consumer.continuous.scripted import FIRST, SECOND, Scripted, Sent

PARTITIONS = st.frozensets(st.integers(0, 4), max_size=4)
UNKNOWN, ILLEGAL, REBALANCE = (
    error.errno for error in (UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError)
)
MOSTLY_FINE = (0,) * 8


class Watched(Scripted):
    """A member whose broker handles commits when the test lets it, on each connection in order.

    Attributes:
        given_up_to: partition -> the offset up to which the application has been given records.
        broker: the group, as its coordinator sees it.
        is_prompt: whether the broker handles and answers commits at once.
    """

    def __init__(self, consumer: Any, *owned: int) -> None:
        self.given_up_to = dict.fromkeys(owned, 100)
        self.broker = Broker()
        self.is_prompt = False
        super().__init__(consumer, *owned)

    def serve(self, node_id: str) -> None:
        """Let the broker handle the oldest commit of a connection."""
        if waiting := self.broker.waiting[node_id]:
            sent = waiting.popleft()
            self.broker.handled[node_id].append((sent, self.broker.handle(sent)))

    def deliver(self, node_id: str) -> None:
        """Let the oldest answer of a connection arrive."""
        if handled := self.broker.handled[node_id]:
            self.answer(*handled.popleft())

    def finish_commits(self, *node_ids: str) -> None:
        """Handle and answer all commits; an answer may cause another commit."""
        while any(self.broker.waiting[n] or self.broker.handled[n] for n in node_ids):
            for node_id in node_ids:
                self.serve(node_id)
                self.deliver(node_id)

    def _send(self, request: Any, node_id: Any = None, request_timeout_ms: Any = None) -> Any:
        joining = [
            request
            for request in self.of(JoinGroupRequest) + self.of(SyncGroupRequest)
            if not request.future.is_done
        ]
        if isinstance(request, JoinGroupRequest):
            assert not joining
            assert Sent(request, node_id, None).claims.get("t", []) == self.owned
            self.broker.begin_round()
        elif not isinstance(request, SyncGroupRequest) and joining:
            assert node_id != FIRST, f"{type(request).__name__} waits behind JoinGroup"
        future = super()._send(request, node_id, request_timeout_ms)
        if isinstance(request, OffsetCommitRequest):
            if self.is_prompt:
                return Future().success(self.broker.handle(self.sent[-1]))
            self.broker.waiting[node_id].append(self.sent[-1])
        return future


class Broker:
    """The group's coordinator: its generation, and which commits it takes.

    Whenever partitions may have other owners, these commit higher offsets.

    Attributes:
        waiting: node id -> commits that it has not handled.
        handled: node id -> commits whose answers are under way.
        committed: partition -> offset.
        accepted: all partitions and offsets that it took from the member.
        fallen: commits of an offset below the committed one.
    """

    def __init__(self) -> None:
        self.generation = 7
        self.waiting: dict[str, deque[Sent]] = {FIRST: deque(), SECOND: deque()}
        self.handled: dict[str, deque[tuple[Sent, Any]]] = {FIRST: deque(), SECOND: deque()}
        self.committed: dict[int, int] = dict.fromkeys(range(5), 100)
        self.accepted: set[tuple[int, int]] = set()
        self.fallen: list[tuple[int, int]] = []
        self.is_completing = False

    def begin_round(self) -> None:
        """Enter PreparingRebalance: JoinGroup has arrived, or another member begins a round."""
        self.is_completing = False

    def complete(self, owned: Collection[int]) -> None:
        """Enter CompletingRebalance: all members have joined."""
        if not self.is_completing:
            self.is_completing = True
            self.go_on_without(set(range(5)) - {*owned})

    def settle(self) -> None:
        """Enter Stable: the leader's plan has arrived."""
        self.is_completing = False

    def go_on_without(self, partitions: Collection[int]) -> None:
        """Begin a generation in which these partitions have other owners."""
        self.generation += 1
        for partition in partitions:
            self.committed[partition] += 7

    def handle(self, sent: Sent) -> Any:
        """Handle a commit; return the answer."""
        request, code = sent.request, 0
        if request.generation_id_or_member_epoch != self.generation:
            code = ILLEGAL
        elif self.is_completing:
            code = REBALANCE
        else:
            for partition, offset in sent.offsets.items():
                if offset < self.committed[partition]:
                    self.fallen.append((partition, offset))
                self.accepted.add((partition, offset))
            self.committed |= sent.offsets
        topics = [(t.name, [(p.partition_index, code) for p in t.partitions]) for t in request.topics]
        return SimpleNamespace(topics=topics)


@contextmanager
def watched(*owned: int) -> Iterator[Watched]:
    """A continuous member whose heartbeats are due on the test's command."""
    with socket.create_server(("127.0.0.1", 0)) as server, patch.object(joins, "COMMIT_MS", 20):
        consumer = KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{server.getsockname()[1]}",
            api_version=(2, 5),
            group_id="g",
            partition_assignment_strategy=[CooperativeStickyAssignor],
            retry_backoff_ms=1,
            session_timeout_ms=300_000,
            heartbeat_interval_ms=100_000,
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
    """The application, the broker and the other members take turns."""

    def __init__(self, member: Watched) -> None:
        self.member = member
        self.broker = member.broker
        self.heard = 0
        self.commits: list[tuple[dict[int, int], Any]] = []

    def turn(self, which: int, how: int) -> None:
        """Take one of the turns that are possible now, in one of its ways."""
        broker, coordinator = self.broker, self.member.coordinator
        turns: list[Callable[[], None]] = 2 * [lambda: self.poll(0 if how % 4 else 30, is_prompt=how % 8 < 4)]
        turns += [self.suspend, self.rejoin]
        if self.member.owned:
            turns += [lambda: self.work(how), self.commit, self.commit]
        turns += [
            partial(self.member.serve, node_id) for node_id in broker.waiting if broker.waiting[node_id]
        ]
        turns += [
            partial(self.member.deliver, node_id) for node_id in broker.handled if broker.handled[node_id]
        ]
        if coordinator._heartbeat_enabled and coordinator.stable():
            turns += 2 * [lambda: self.beat(one_of((0, REBALANCE, REBALANCE, REBALANCE, UNKNOWN, ILLEGAL)))]
        if self._waits_for(JoinGroupRequest):
            turns += [self.complete, self.cut]
            turns += 2 * [lambda: self.join(one_of((*MOSTLY_FINE, UNKNOWN, REBALANCE)))]
        if self._waits_for(SyncGroupRequest):
            codes = *MOSTLY_FINE, REBALANCE, REBALANCE, UNKNOWN, ILLEGAL
            given = {partition for partition in range(5) if how & 2**partition}
            turns += [self.cut, *3 * [lambda: self.sync(given, one_of(codes))]]

        def one_of(codes: tuple[int, ...]) -> int:
            return codes[how // 32 % len(codes)]

        turns[which % len(turns)]()

    def poll(self, timeout_ms: int, is_prompt: bool) -> None:
        """The application has processed its records, and polls."""
        member = self.member
        may_still_own = member.coordinator._may_still_own()
        if is_prompt:
            member.finish_commits(FIRST, SECOND)
        before, began, member.is_prompt = dict(member.given_up_to), time.monotonic(), is_prompt
        delivers = member.poll(timeout_ms)
        member.is_prompt = False
        assert time.monotonic() - began < timeout_ms / 1000 + 20.0
        assert may_still_own or not before or not delivers
        for kind, partitions in member.listener.heard[self.heard :]:
            assert may_still_own or kind == "lost" or not before
            for partition in partitions:
                if kind == "revoked" and is_prompt:
                    assert self.broker.committed[partition] == before[partition]
                if kind in {"revoked", "lost"}:
                    del member.given_up_to[partition]
                if kind == "assigned":
                    member.given_up_to[partition] = self.broker.committed[partition]
                    member.process(partition, to=member.given_up_to[partition])
        self.heard = len(member.listener.heard)

    def work(self, number: int) -> None:
        """The application receives ten more records of a partition."""
        if owned := self.member.owned:
            partition = owned[number % len(owned)]
            self.member.given_up_to[partition] += 10
            self.member.process(partition, to=self.member.given_up_to[partition])

    def commit(self) -> None:
        """The application commits its positions."""
        positions = dict(self.member.given_up_to)
        offsets = {
            TopicPartition("t", partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in positions.items()
        }
        sent = self.member.in_background(self.member.coordinator._send_offset_commit_request, offsets)
        self.commits.append((positions, sent))

    def rejoin(self) -> None:
        """The leader or a watcher requests a rebalance."""
        self.member.coordinator.request_rejoin()

    def complete(self) -> None:
        """All members have joined; the answer is under way."""
        if self._waits_for(JoinGroupRequest):
            self.member.finish_commits(FIRST)  # the broker reads JoinGroup after them
            self.broker.complete(self.member.owned)

    def join(self, code: int) -> None:
        """JoinGroup is answered."""
        if not self._waits_for(JoinGroupRequest):
            return
        if code:
            self.member.finish_commits(FIRST)
            self._broker_answers(code)
        else:
            self.complete()
        self.member.generation = self.broker.generation - (not code)
        self.member.answer_join(code)

    def sync(self, given: Collection[int], code: int) -> None:
        """SyncGroup is answered."""
        if self._waits_for(SyncGroupRequest):
            self._broker_answers(code)
            self.broker.settle()
            self.member.answer_sync(*given, code=code)

    def cut(self) -> None:
        """The first connection breaks."""
        for kind in (JoinGroupRequest, SyncGroupRequest):
            if self._waits_for(kind):
                self.member.fail(kind, KafkaConnectionError("gone"))
                return

    def suspend(self) -> None:
        """The process stands still for longer than a session."""
        coordinator = self.member.coordinator
        coordinator._confirmed_at -= coordinator.config["session_timeout_ms"] / 1000

    def beat(self, code: int) -> None:
        """A heartbeat is answered."""
        if self.member.coordinator._heartbeat_enabled and self.member.coordinator.stable():
            self._broker_answers(code)
            self.member.beat(code)

    def check(self) -> None:
        """One join at a time; the assignment changes in ``poll`` only, and positions are contiguous."""
        joins = [*self.member.of(JoinGroupRequest), *self.member.of(SyncGroupRequest)]
        assert sum(not request.future.is_done for request in joins) <= 1
        assert self.member.owned == sorted(self.member.given_up_to)
        assert self.member.positions == self.member.given_up_to
        assert not self.broker.fallen
        for positions, sent in self.commits:
            assert not sent.succeeded() or positions.items() <= self.broker.accepted

    def _broker_answers(self, code: int) -> None:
        if code in {UNKNOWN, ILLEGAL}:
            self.broker.go_on_without(self.member.owned)

    def _waits_for(self, kind: type) -> bool:
        return any(not request.future.is_done for request in self.member.of(kind))


NUMBERS = st.tuples(st.integers(0, 10_000), st.integers(0, 10_000))
# Hypothesis' lists are short unless their length is drawn first.
TURNS = st.integers(1, 60).flatmap(lambda count: st.lists(NUMBERS, min_size=count, max_size=count))


@settings(max_examples=times(1.5), deadline=None)
@given(PARTITIONS, TURNS)
def test_laws_hold_under_random_events(owned: Collection[int], turns: list[tuple[int, int]]) -> None:
    with watched(*owned) as member:
        play = Play(member)
        for which, how in turns:
            play.turn(which, how)
            play.check()
        member.finish_commits(FIRST, SECOND)
        play.check()
