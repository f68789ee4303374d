"""The one module that touches kafka-python's private parts.

kafka-python tells an assignor neither whether its consumer runs eager or cooperative, nor that its
membership was lost, and has no public way to ask for a rebalance.  The consumer's coordinator knows all
three.  It calls the assignor, so it is found in the call stack, once.  What is relied on here is pinned by
``tests/unit/adapter/test_consumer_side.py``.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import OffsetResetStrategy
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.future import Future
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

__all__ = [
    "ConsumerSide",
    "Timeouts",
    "commit",
    "confirmed_s_ago",
    "drop_unsent",
    "ended",
    "generation_of",
    "is_closing",
    "is_fenced",
    "kept_up_until",
    "member_id_of",
    "polled_s_ago",
    "replicas",
    "request_rejoin",
    "runs_cooperative",
    "static_member_id",
    "timeouts",
]

_PRIVATE = (
    *("_assignors", "_generation", "_manager", "_net", "_rebalance_protocol", "_subscription"),
    "request_rejoin",
)
_RESETS = {OffsetResetStrategy.LATEST: "latest", OffsetResetStrategy.EARLIEST: "earliest"}
_NEAR = 8  # frames; the coordinator calls its assignors directly, or through somebody's wrapper


def runs_cooperative(consumer: KafkaConsumer) -> bool:
    """Whether a consumer runs the cooperative protocol (KIP-429)."""
    return bool(consumer._coordinator._rebalance_protocol == RebalanceProtocol.COOPERATIVE)


def is_closing(consumer: KafkaConsumer) -> bool:
    """Whether ``close()`` was called; it revokes everything, and nothing will be assigned again."""
    return bool(consumer._closed)


def generation_of(consumer: KafkaConsumer) -> int:
    """The generation a consumer is in, or is joining; -1 when it is in none."""
    return int(consumer._coordinator._generation.generation_id)


def member_id_of(consumer: KafkaConsumer) -> str:
    """The broker's id of a consumer, a new one with each membership; empty while it is in no group."""
    return str(consumer._coordinator._generation.member_id)


def replicas(cluster: ClusterMetadata, topic: str, count: int) -> list[tuple[int, ...]]:
    """The brokers that have a replica of each of a topic's partitions.

    In public kafka-python says so of one partition and one broker at a time: with 100,000 partitions and 60
    brokers a rebalance would wait 10 s for it.  So it is only asked where its parts are not those we know.
    """
    topics = getattr(cluster, "_partitions", None)
    if topics is None:
        nodes = [broker.node_id for broker in cluster.brokers()]
        return [
            tuple(node for node in nodes if cluster.is_replica_node(TopicPartition(topic, number), node))
            for number in range(count)
        ]
    partitions = topics.get(topic, {})
    return [
        tuple(partitions[number].replica_nodes) if number in partitions else () for number in range(count)
    ]


async def commit(consumer: KafkaConsumer, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    """Commit on the I/O thread, where the public ``commit`` refuses to block, and retry what can be retried.

    Raises:
        KafkaError: it cannot be committed, or not within 5 s.
    """
    await consumer._coordinator._commit_offsets_sync_async(dict(offsets), timeout_ms=5000)


def confirmed_s_ago(consumer: KafkaConsumer) -> float | None:
    """Seconds since a heartbeat was sent that the broker answered; None: it joins, is fenced, or in no group.

    A process that was stopped for a while finds out here that it was: what the coordinator believes is from
    before, and so may be an answer that it reads now.  While an answer is waited for: infinitely long.
    """
    coordinator = consumer._coordinator
    if coordinator.generation_if_stable() is None or is_fenced(consumer):
        return None
    beat = coordinator.heartbeat
    sent, received = beat.last_send, beat.last_receive
    return float(time.monotonic() - sent) if received >= sent else float("inf")


def polled_s_ago(consumer: KafkaConsumer) -> float:
    """Seconds after which kafka-python leaves the group if they are ``max_poll_interval_ms``.

    Since the last poll, or since it looked for its coordinator, if that was later.
    """
    return float(time.monotonic() - consumer._coordinator.heartbeat.last_poll)


def kept_up_until(consumer: KafkaConsumer) -> float | None:
    """Up to when (``time.monotonic()``) no rebalance had begun that the consumer has not joined.

    That is when the last heartbeat was sent whose answer has come, and did not tell of any.  None: one is
    under way, or an answer is waited for.
    """
    coordinator = consumer._coordinator
    beat = coordinator.heartbeat
    sent, received = beat.last_send, beat.last_receive  # which is set after what the answer asks for
    if received < sent or coordinator.rejoin_needed or coordinator.generation_if_stable() is None:
        return None
    return float(sent)


def is_fenced(consumer: KafkaConsumer) -> bool:
    """Whether another consumer joined with this one's ``group_instance_id``, and a heartbeat was told so.

    kafka-python sends no more heartbeats then, and goes on as if nothing had happened.
    """
    coordinator = consumer._coordinator
    with coordinator._lock:
        return bool(
            not coordinator.is_dynamic_member()
            and coordinator.state is MemberState.STABLE
            and not coordinator._heartbeat_enabled
            and not coordinator.rejoining  # a join stops them, too
        )


def static_member_id(consumer: KafkaConsumer) -> str | None:
    """The broker's id of a static member: another one after each join from outside.  None: it is none."""
    coordinator = consumer._coordinator
    return None if coordinator.is_dynamic_member() else str(coordinator._generation.member_id)


class Timeouts(NamedTuple):
    """Seconds after which a broker gives a member's partitions to others: without a heartbeat, or a poll."""

    session_s: float
    poll_s: float
    heartbeat_s: float  # how often one is sent


def timeouts(consumer: KafkaConsumer) -> Timeouts:
    """Those that a consumer joins with."""
    config = consumer._coordinator.config
    names = ("session_timeout_ms", "max_poll_interval_ms", "heartbeat_interval_ms")
    return Timeouts(*(float(config[name] / 1000) for name in names))


def drop_unsent(producer: KafkaProducer, timeout_s: float) -> None:
    """Have a producer send nothing more; its ``close`` gives up where there is something to send."""
    producer._sender.force_close()
    producer._sender.join(timeout_s)


async def ended(consumer: KafkaConsumer, thread: threading.Thread) -> None:
    """Wait on the I/O thread for the end of another one, without holding up heartbeats."""
    while thread.is_alive():
        await consumer._coordinator._net.sleep(0.01)


def request_rejoin(consumer: KafkaConsumer) -> None:
    """Ask for a rebalance at the consumer's next poll."""
    consumer._coordinator.request_rejoin()


class ConsumerSide:
    """What an assignor can see of the consumer it belongs to.

    Outside a consumer (an assignor used by hand) nothing is seen, and every answer is None.
    """

    def __init__(self) -> None:
        self._coordinator: weakref.ref[ConsumerCoordinator] | None = None

    def look(self) -> bool:
        """Find the coordinator that is calling; False if it is not the one that called before."""
        caller = _caller()
        before = self._seen()
        if caller is not None and before is None:
            self._coordinator = weakref.ref(caller)
        return caller is None or before is None or caller is before

    def is_strange(self) -> bool:
        """Whether the consumer is there but its parts are not the ones we know."""
        coordinator = self._seen()
        return coordinator is not None and not all(hasattr(coordinator, name) for name in _PRIVATE)

    def cooperative(self) -> bool | None:
        """Whether the consumer runs the cooperative protocol (KIP-429); it is settled at its construction."""
        protocol = getattr(self._seen(), "_rebalance_protocol", None)
        return None if protocol is None else bool(protocol == RebalanceProtocol.COOPERATIVE)

    def owned(self) -> list[tuple[str, int]] | None:
        """The (topic, partition)s of the consumer's last assignment: none after it lost its membership.

        A cooperative consumer has them in its hands; an eager one has revoked them when it joins.
        """
        subscription = getattr(self._seen(), "_subscription", None)
        if subscription is None:
            return None
        return [(tp.topic, tp.partition) for tp in subscription.assigned_partitions()]

    def assignors(self) -> list[object]:
        """All strategies of the consumer's list."""
        return list(getattr(self._seen(), "_assignors", {}).values())

    def session_timeout_s(self) -> float | None:
        """How long the broker waits for a heartbeat; none is sent while an assignor plans."""
        timeout = getattr(self._seen(), "config", {}).get("session_timeout_ms")
        return timeout / 1000 if isinstance(timeout, (int, float)) else None

    def member_id(self) -> str | None:
        """The broker's id of the consumer, since it joined."""
        now = getattr(getattr(self._seen(), "_generation", None), "member_id", None)
        return now if isinstance(now, str) and now else None

    def generation(self) -> int | None:
        """The generation the consumer joined last, whether or not its assignment ever took effect."""
        now = getattr(getattr(self._seen(), "_generation", None), "generation_id", None)
        return now if isinstance(now, int) and now >= 0 else None

    def lost_while_joining(self) -> bool:
        """Whether the broker forgot the consumer during a join, so that the join has to begin anew.

        kafka-python looks whether the membership is lost when a join begins, and not when it tries again: it
        would claim, and go on with, what others may have had since.  Whoever gets True fails this attempt
        with `UnknownMemberIdError`; the consumer then begins anew, which tells its listener what is lost.
        An eager consumer has given everything back when the join began: it only goes on from what is
        committed, and not from where it was.
        """
        coordinator = self._seen()
        if coordinator is None or self.is_strange() or not getattr(coordinator, "rejoining", False):
            return False
        if not coordinator._generation.is_lost() or not self.owned():
            return False
        if self.cooperative():
            coordinator.rejoining = False
            return True
        coordinator._subscription.assign_from_subscribed([])
        return False

    def request_rejoin(self) -> None:
        """Ask for a rebalance at the consumer's next poll.  Only a leader's request starts one for sure."""
        if (coordinator := self._seen()) is not None:
            coordinator.request_rejoin()

    def request_rejoin_from_elsewhere(self) -> None:
        """The same, from any thread; of a consumer whose event loop has ended nothing is asked any more."""
        if (coordinator := self._seen()) is not None:
            with suppress(Exception):  # a loop that crashed raises what it crashed of
                coordinator._net.call_soon_threadsafe(coordinator.request_rejoin)

    def config(self) -> dict[str, Any] | None:
        """How the consumer reaches its cluster, its group, and where it starts without a commit."""
        coordinator = self._seen()
        if coordinator is None or self.is_strange():
            return None
        reset = getattr(coordinator._subscription, "_default_offset_reset_strategy", None)
        return {
            **coordinator._manager.config,
            "group_id": coordinator.group_id,
            "auto_offset_reset": _RESETS.get(reset, "none"),
        }

    def at_close(self, do: Callable[[], None]) -> bool:
        """Have something done when the consumer is closed, before its ``close()`` returns.

        An assignor is not told of that.  But the consumer's event loop ends then, and what still waits on
        it is cancelled.

        Returns:
            Whether it will be done: not where the loop has ended, or its parts are not those we know.
            Without a consumer there is nothing to wait for.
        """
        coordinator = self._seen()
        if coordinator is None:
            return True
        if self.is_strange():
            return False

        async def wait_for_the_end() -> None:
            try:
                await Future()
            finally:
                do()

        try:
            coordinator._net.call_soon_threadsafe(wait_for_the_end)
        except Exception:  # a loop that crashed raises what it crashed of
            return False
        return True

    def request_rejoin_after(self, seconds: float) -> None:
        """Ask for a rebalance unless one begins by itself before that.  On the I/O thread only."""
        coordinator = self._seen()
        if coordinator is None:
            return
        then, later = self.generation(), weakref.ref(coordinator)

        def ask() -> None:
            now = later()
            if now is not None and now._generation.generation_id == then:
                now.request_rejoin()

        coordinator._net.call_later(seconds, ask)

    def _seen(self) -> ConsumerCoordinator | None:
        return self._coordinator() if self._coordinator is not None else None


def _caller() -> ConsumerCoordinator | None:
    """The nearest coordinator up the stack."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None:
            return None
        if isinstance(caller := frame.f_locals.get("self"), ConsumerCoordinator):
            return caller
        frame = frame.f_back
    return None
