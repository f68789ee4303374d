"""A member whose requests the test answers.  The rest is kafka-python's own code."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kafka import AsyncConsumerRebalanceListener
from kafka.coordinator.base import Generation
from kafka.future import Future
from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.protocol.metadata import CoordinatorType
from kafka.structs import MemberState, TopicPartition

from kafka_assignors import Assignor
from kafka_assignors.assignor import convert
from tests.support.group.joining import own

FIRST, SECOND = "coordinator-0", "coordinator-coordinator-0-during-joins"

Heard = list[tuple[str, list[int]]]


@dataclass
class Sent:
    """A request and its pending answer."""

    request: Any
    node_id: Any
    future: Any

    @property
    def claims(self) -> dict[str, list[int]]:
        """The partitions that a JoinGroup claims."""
        ((_, subscription),) = self.request.protocols
        return dict(convert.owned_in(subscription))

    @property
    def offsets(self) -> dict[int, int]:
        """Partition -> offset of an OffsetCommit."""
        return {
            entry.partition_index: entry.committed_offset
            for topic in self.request.topics
            for entry in topic.partitions
        }


class Listener(AsyncConsumerRebalanceListener):  # type: ignore[misc]  # its base is Any
    """Records a listener's calls, and the requests sent before each."""

    def __init__(self, member: Scripted) -> None:
        self.heard: Heard = []
        self._member = member

    def _note(self, kind: str, about: Collection[TopicPartition]) -> None:
        assert self._member.polling, f"{kind} outside poll()"
        joins = len(self._member.of(JoinGroupRequest))
        self.heard.append((kind, sorted(tp.partition for tp in about)))
        assert len(self._member.of(JoinGroupRequest)) == joins

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self._note("revoked", revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._note("assigned", assigned)

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self._note("lost", lost)


class Scripted:
    """A member of generation 7, position 100 everywhere, in a group of one strategy.

    Attributes:
        sent: all requests, in the order they were sent.
        polling: whether ``poll`` is running.
    """

    def __init__(self, consumer: Any, *owned: int) -> None:
        self.consumer = consumer
        self.coordinator = coordinator = consumer._coordinator
        self.sent: list[Sent] = []
        self.polling = False
        self.listener = Listener(self)
        self.generation = 7
        ((self.strategy, self.assignor),) = coordinator._assignors.items()
        coordinator._manager.send = self._send
        self._get_connection = coordinator._manager.get_connection
        coordinator._manager.get_connection = self._connection
        coordinator._cluster.add_coordinator(
            SimpleNamespace(error_code=0, node_id=0, host="127.0.0.1", port=1), CoordinatorType.GROUP, "g"
        )
        coordinator.coordinator_id = FIRST
        coordinator._cluster._partitions["t"] = {}  # the metadata lists the topic
        consumer.subscribe(["t"], listener=self.listener)
        if not owned:
            return
        partitions = [TopicPartition("t", number) for number in owned]
        consumer._subscription.assign_from_subscribed(partitions)
        for tp in partitions:
            consumer._subscription.assignment[tp].seek(100)
        if isinstance(self.assignor, Assignor):
            own(self.assignor, {"t": list(owned)}, 7)
        coordinator._generation = Generation(7, "m", self.strategy)
        coordinator._joined_subscription = {"t"}
        coordinator.state = MemberState.STABLE
        coordinator.heartbeat.poll()
        coordinator._heartbeat_enabled = True
        coordinator._confirmed_at = time.monotonic()
        coordinator.rejoin_needed = False

    # --- actions of the application and the broker

    def poll(self, timeout_ms: int = 0) -> bool:
        """Poll the coordinator, as the consumer's ``poll`` does before it fetches."""
        self.polling = True
        try:
            return bool(self.coordinator.poll(timeout_ms=timeout_ms))
        finally:
            self.polling = False
            self.drain()

    def fetch_offsets(self, timeout_ms: int = 0) -> bool:
        """Fetch missing committed offsets, as the consumer's ``poll`` does."""
        self.coordinator.is_polling = True
        try:
            return bool(self.coordinator.refresh_committed_offsets_if_needed(timeout_ms=timeout_ms))
        finally:
            self.coordinator.is_polling = False

    def rebalance(self) -> None:
        """A heartbeat reports a rebalance, and the application polls: JoinGroup is sent."""
        self.coordinator.request_rejoin()
        self.poll()

    def begin_poll(self) -> Any:
        """Start the part of ``poll`` that waits for a join; returns its future."""
        self.polling = True
        return self.in_background(self.coordinator.ensure_active_group_async, 0)

    def in_background(self, call: Any, *args: Any) -> Any:
        """Start a coroutine on the I/O thread; returns its future."""
        future = self.coordinator._manager.call_soon(call, *args)
        self.drain()
        return future

    def drain(self) -> None:
        """Run the I/O thread until it waits for an answer."""

        async def nothing() -> None:
            pass

        for _ in range(12):
            self.coordinator._net.run(nothing)

    def of(self, kind: type, *, node_id: str | None = None) -> list[Sent]:
        """The requests of a kind, in the order they were sent."""
        return [
            entry
            for entry in self.sent
            if isinstance(entry.request, kind) and (node_id is None or entry.node_id == node_id)
        ]

    def open(self, kind: type) -> Sent:
        """The pending request of a kind."""
        (waiting,) = [entry for entry in self.of(kind) if not entry.future.is_done]
        return waiting

    def answer_join(self, code: int = 0) -> None:
        """All members have joined; another member leads."""
        sent = self.open(JoinGroupRequest)
        if not code:
            self.generation += 1
        answer = SimpleNamespace(
            error_code=code,
            protocol_type=None,
            protocol_name=self.strategy,
            generation_id=self.generation,
            member_id=sent.request.member_id or "m",
            leader="somebody else",
        )
        self.answer(sent, answer)

    def answer_sync(self, *given: int, code: int = 0) -> None:
        """The leader has assigned these partitions to the member."""
        data = ConsumerProtocolAssignment(0, [("t", sorted(given))], b"").encode()
        answer = SimpleNamespace(error_code=code, protocol_type=None, protocol_name=None, assignment=data)
        self.answer(self.open(SyncGroupRequest), answer)

    def joined(self, *given: int) -> None:
        """Answer JoinGroup and SyncGroup."""
        self.answer_join()
        self.answer_sync(*given)

    def settle(self, *given: int) -> bool:
        """Answer JoinGroup and SyncGroup, and poll."""
        self.joined(*given)
        return self.poll()

    def answer_commit(self, code: int = 0) -> None:
        """Answer the commit that waits longest."""
        sent = next(entry for entry in self.of(OffsetCommitRequest) if not entry.future.is_done)
        topics = [(t.name, [(p.partition_index, code) for p in t.partitions]) for t in sent.request.topics]
        self.answer(sent, SimpleNamespace(topics=topics))

    def answer_offsets(self, committed: dict[int, int], code: int = 0) -> None:
        """Answer OffsetFetch."""
        entries = [
            SimpleNamespace(
                partition_index=number,
                committed_offset=offset,
                committed_leader_epoch=-1,
                metadata="",
                error_code=0,
            )
            for number, offset in committed.items()
        ]
        group = SimpleNamespace(error_code=code, topics=[SimpleNamespace(name="t", partitions=entries)])
        self.answer(self.open(OffsetFetchRequest), SimpleNamespace(API_VERSION=8, groups=[group]))

    def beat(self, code: int = 0) -> None:
        """A heartbeat is due, and answered."""
        done = self.in_background(self.coordinator._do_heartbeat)
        # On a busy machine kafka-python's own may be pending, too, and may be the last one.
        pending = [sent for sent in self.of(HeartbeatRequest) if not sent.future.is_done]
        while not done.is_done:
            self.answer(pending.pop(), SimpleNamespace(error_code=code))

    def answer_leave(self) -> None:
        """Answer LeaveGroup."""
        self.answer(self.open(LeaveGroupRequest), SimpleNamespace(error_code=0, members=[]))

    def fail(self, kind: type, error: Exception) -> None:
        """The connection breaks while a request waits."""
        self._resolve(self.open(kind).future.failure, error)

    def end(self) -> None:
        """Forget the membership, so that ``close`` sends no LeaveGroup."""
        self.coordinator.config["enable_auto_commit"] = False
        self.coordinator.reset_generation()
        self.consumer._subscription.unsubscribe()

    # --- results

    @property
    def owned(self) -> list[int]:
        """Partitions that are assigned."""
        return sorted(tp.partition for tp in self.consumer.assignment())

    @property
    def positions(self) -> dict[int, int | None]:
        """Partition -> position."""
        return {
            tp.partition: state.position and state.position.offset
            for tp, state in self.consumer._subscription.assignment.items()
        }

    def process(self, number: int, to: int) -> None:
        """Deliver records of a partition up to an offset."""
        self.consumer._subscription.assignment[TopicPartition("t", number)].seek(to)

    def requests(self) -> Iterator[str]:
        """The names of all group requests, in order."""
        kinds = (
            JoinGroupRequest,
            SyncGroupRequest,
            OffsetCommitRequest,
            OffsetFetchRequest,
            LeaveGroupRequest,
        )
        for entry in self.sent:
            if isinstance(entry.request, kinds):
                yield type(entry.request).__name__.removesuffix("Request")

    def answer(self, sent: Sent, answer: Any) -> None:
        """Answer a request."""
        self._resolve(sent.future.success, answer)

    def _resolve(self, future_ends: Callable[[Any], object], result: Any) -> None:
        async def end() -> None:
            future_ends(result)

        self.coordinator._net.run(end)
        self.drain()

    def _send(self, request: Any, node_id: Any = None, request_timeout_ms: Any = None) -> Any:
        """Send a request; nothing is answered, and no coordinator found, until the test does it."""
        future = Future()
        self.sent.append(Sent(request, node_id, future))
        return future

    def _connection(self, node_id: Any, **settings: Any) -> Any:
        if node_id not in {FIRST, SECOND}:
            return self._get_connection(node_id, **settings)

        def close(error: Exception) -> None:
            for sent in self.sent:
                if sent.node_id == node_id and not sent.future.is_done:
                    sent.future.failure(error)

        return SimpleNamespace(close=close)
