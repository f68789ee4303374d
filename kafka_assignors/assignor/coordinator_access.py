"""Touches kafka-python's private parts.  Only this module and the folder ``continuous`` do.

kafka-python tells an assignor neither whether its consumer runs eager or cooperative, nor that its
membership was lost, and has no public way to ask for a rebalance.  The consumer's coordinator knows all
three.  It calls the assignor, so it is found in the call stack, once.  What is relied on here is pinned by
``tests/unit/assignor/test_coordinator_access.py``.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.consumer.subscription_state import OffsetResetStrategy
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import CoordinatorNotAvailableError, for_code
from kafka.future import Future
from kafka.protocol.admin import DescribeGroupsRequest
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
    "is_settled",
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
    *("_assignors", "_cluster", "_generation", "_manager", "_net", "_rebalance_protocol", "_subscription"),
    "request_rejoin",
)
_RESETS = {OffsetResetStrategy.LATEST: "latest", OffsetResetStrategy.EARLIEST: "earliest"}
_LEADER = "_kafka_assignors_leader"
"""Our attribute of a coordinator: the leader's member id."""
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
    """Seconds since a heartbeat was sent that the broker answered; None: it is fenced, or in no group.

    Also None while a ``KafkaConsumer`` joins; a `ContinuousConsumer` sends heartbeats during joins, too.

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


def is_settled(consumer: KafkaConsumer) -> bool:
    """Whether the consumer is in a group, no join is under way, and none waits to be applied."""
    return bool(consumer._coordinator.state is MemberState.STABLE)


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
            _remember_leaders(caller)
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
        return self._configured_s("session_timeout_ms")

    def max_poll_interval_s(self) -> float | None:
        """How long the application may be busy between two polls."""
        return self._configured_s("max_poll_interval_ms")

    def _configured_s(self, name: str) -> float | None:
        value = getattr(self._seen(), "config", {}).get(name)
        return value / 1000 if isinstance(value, (int, float)) else None

    def member_id(self) -> str | None:
        """The broker's id of the consumer, since it joined."""
        now = getattr(getattr(self._seen(), "_generation", None), "member_id", None)
        return now if isinstance(now, str) and now else None

    def leader_id(self) -> str | None:
        """The leader's member id, as the last JoinGroup response named it; None: not known.

        Empty in a group that was converted to the new protocol (KIP-848): there the broker plans.
        """
        return getattr(self._seen(), _LEADER, None)

    def generation(self) -> int | None:
        """The generation the consumer joined last, whether or not its assignment ever took effect."""
        now = getattr(getattr(self._seen(), "_generation", None), "generation_id", None)
        return now if isinstance(now, int) and now >= 0 else None

    def instance_id(self) -> str | None:
        """The ``group_instance_id`` of a static member; None of a dynamic one."""
        coordinator = self._seen()
        if coordinator is None or self.is_strange() or coordinator.is_dynamic_member():
            return None
        return str(coordinator.group_instance_id)

    def settled_generation(self) -> int | None:
        """The generation the consumer is in; None while it joins, or will at its next poll."""
        coordinator = self._seen()
        if coordinator is None or coordinator.state is not MemberState.STABLE or coordinator.need_rejoin():
            return None
        return self.generation()

    def listed(self) -> dict[str, int]:
        """Partitions of each topic that the consumer subscribes to, as far as its metadata lists them."""
        if (coordinator := self._seen()) is None:
            return {}
        topics = coordinator._subscription.subscription or ()
        partitions = {topic: coordinator._cluster.partitions_for_topic(topic) for topic in topics}
        return {topic: max(numbers) + 1 for topic, numbers in partitions.items() if numbers}

    def at_metadata(self, do: Callable[[], None]) -> None:
        """Have something done after each update of the metadata, on the I/O thread."""
        if (coordinator := self._seen()) is not None:
            coordinator._cluster.add_listener(lambda _cluster: do())

    def run(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a coroutine on the I/O thread; it ends with the consumer at the latest."""
        if (coordinator := self._seen()) is not None:
            coordinator._manager.call_soon(job)

    async def sleep(self, seconds: float) -> None:
        """Wait on the I/O thread, without holding it up."""
        if (coordinator := self._seen()) is not None:
            await coordinator._net.sleep(seconds)

    async def describe_group(self) -> Any:
        """The group as its coordinator describes it now (one group of a DescribeGroups response).

        Raises:
            KafkaError: it cannot be had.
        """
        coordinator = self._seen()
        if coordinator is None or coordinator.coordinator_unknown():
            raise CoordinatorNotAvailableError
        request = DescribeGroupsRequest(groups=[coordinator.group_id])
        response = await coordinator._manager.send(request, node_id=coordinator.coordinator_id)
        (described,) = response.groups
        if described.error_code:
            raise for_code(described.error_code)(coordinator.group_id)
        return described

    def metadata_updated_at(self) -> float | None:
        """When the metadata was last updated (``time.monotonic``); None without a known consumer."""
        coordinator = self._seen()
        if coordinator is None or self.is_strange():
            return None
        return float(coordinator._cluster._last_successful_refresh_ms) / 1000

    def metadata_asked_at(self) -> float:
        """Earliest time of an update that answers a request made now (``time.monotonic``).

        ``inf`` while an update is under way: it was requested earlier, maybe for other topics.
        """
        coordinator = self._seen()
        is_under_way = coordinator is not None and coordinator._cluster.metadata_refresh_in_progress
        return float("inf") if is_under_way else time.monotonic()

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
        if (coordinator := self._seen()) is not None:
            coordinator._net.call_later(seconds, self._rejoin_unless_begun())

    def request_rejoin_with_metadata(self) -> None:
        """The same, as soon as the metadata is updated, or that has failed."""
        if (coordinator := self._seen()) is not None:
            ask = self._rejoin_unless_begun()
            coordinator._cluster.request_update().add_both(lambda _outcome: ask())

    def _rejoin_unless_begun(self) -> Callable[[], None]:
        then, later = self.generation(), weakref.ref(self._seen())

        def ask() -> None:
            now = later()
            if now is not None and now._generation.generation_id == then:
                now.request_rejoin()

        return ask

    def _seen(self) -> ConsumerCoordinator | None:
        return self._coordinator() if self._coordinator is not None else None


def _remember_leaders(coordinator: ConsumerCoordinator) -> None:
    """Have a coordinator remember the leader that a JoinGroup response names, which it forgets."""
    if not hasattr(coordinator, "_process_join_group_response") or hasattr(coordinator, _LEADER):
        return
    itself = weakref.ref(coordinator)

    def remembering(response: Any, *more: Any) -> Any:
        now: Any = itself()
        # Looked up at each call: ContinuousConsumer replaces the coordinator's class later.
        joined = type(now)._process_join_group_response(now, response, *more)
        setattr(now, _LEADER, response.leader)
        return joined

    setattr(coordinator, _LEADER, None)
    coordinator._process_join_group_response = remembering


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
