"""Reads and calls the private parts of a given consumer, producer or cluster metadata."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from kafka import KafkaConsumer, KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.errors import KafkaTimeoutError
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from kafka_assignors.plan import listed

log = logging.getLogger("kafka_assignors")

COMMIT_MS = 5000  # timeout of a commit before partitions are revoked
_UNLISTED_MS = 100  # of topics that the metadata does not list


def runs_cooperative(consumer: KafkaConsumer) -> bool:
    """Whether a consumer runs the cooperative protocol (KIP-429)."""
    return bool(consumer._coordinator._rebalance_protocol == RebalanceProtocol.COOPERATIVE)


def is_closing(consumer: KafkaConsumer) -> bool:
    """Whether ``close()`` was called, which revokes all partitions; no assignment follows."""
    return bool(consumer._closed)


def generation_of(consumer: KafkaConsumer) -> int:
    """Return the generation a consumer is in or joins; -1 without one."""
    return int(consumer._coordinator._generation.generation_id)


def member_id_of(consumer: KafkaConsumer) -> str:
    """Return a consumer's member id, a new one with each membership; empty outside a group."""
    return str(consumer._coordinator._generation.member_id)


def partition_counts(cluster: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    """Count the partitions of each topic that exists.  Kafka numbers them from 0 without gaps."""
    partitions = {topic: cluster.partitions_for_topic(topic) for topic in topics}
    return {topic: max(numbers) + 1 for topic, numbers in partitions.items() if numbers}


def replicas(cluster: ClusterMetadata, topic: str, count: int) -> list[tuple[int, ...]]:
    """Return, for each of a topic's ``count`` partitions, the ids of the brokers that have a replica of it.

    kafka-python's public call takes one partition and one broker at a time: 10 s for 100,000 partitions and
    60 brokers.  That call is the fallback for a kafka-python with other private parts.
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


def without_leader(consumer: KafkaConsumer, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions for which a consumer's metadata has no leader."""
    leader = consumer._cluster.leader_for_partition
    return {partition for partition in partitions if leader(partition) in {None, -1}}


def topic_id(consumer: KafkaConsumer, topic: str) -> str | None:
    """Return the id of a topic in a consumer's metadata; None: not known."""
    current = getattr(consumer._cluster, "_topic_ids", {}).get(topic)
    return None if current is None else str(current)


async def commit(consumer: KafkaConsumer, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    """Commit on the I/O thread, where the public ``commit`` refuses to block.  See `commit_with`."""
    await commit_with(consumer._coordinator, offsets)


async def commit_with(
    coordinator: Any, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float = COMMIT_MS
) -> None:
    """Commit on the I/O thread with a consumer's coordinator.  Retries retriable errors.

    A broker refuses offsets of a deleted topic, and kafka-python repeats that commit until its timeout.  So
    offsets of topics that the metadata does not list, maybe only for a moment, get 0.1 s.

    Raises:
        KafkaError: the commit failed, or took more than ``timeout_ms``.
    """
    topics = {partition.topic for partition in offsets}
    unlisted = {topic for topic in topics if coordinator._cluster.partitions_for_topic(topic) is None}
    sure = {partition: offset for partition, offset in offsets.items() if partition.topic not in unlisted}
    await coordinator._commit_offsets_sync_async(sure, timeout_ms=timeout_ms)
    if not unlisted:
        return
    rest = {partition: offset for partition, offset in offsets.items() if partition not in sure}
    try:
        await coordinator._commit_offsets_sync_async(rest, timeout_ms=_UNLISTED_MS)
    except KafkaTimeoutError:
        names = listed(sorted(unlisted))
        log.info("the broker did not take the offsets of %s, which the metadata does not list", names)


def drop_exhausted_batch(consumer: KafkaConsumer) -> None:
    """Let the next ``poll()`` return to the unread records of partitions that were paused and resumed.

    kafka-python 3.0 looks for these records only while it has no current batch, but a batch that was read to
    its end stays the current one.  While a partition has unread records, kafka-python fetches no more of it.
    So without this call these partitions may stand still for ever.
    """
    if not consumer._fetcher._next_partition_records:
        consumer._fetcher._next_partition_records = None


def heartbeat_age_s(consumer: KafkaConsumer) -> float | None:
    """Return the seconds since the last heartbeat was sent, if its response confirms the membership.

    Infinite before the first heartbeat, while a response is outstanding, and if the response does not confirm
    the membership.  Once its session has ended, a `ContinuousConsumer` accepts no response until it has
    joined again, because a process that was suspended may read an old response.

    None if the member is fenced, or in no group.  Also None while a ``KafkaConsumer`` joins; a
    `ContinuousConsumer` sends heartbeats during joins.
    """
    coordinator = consumer._coordinator
    if coordinator.generation_if_stable() is None or is_fenced(consumer):
        return None
    sent_at = _answered_heartbeat_at(coordinator)
    return float("inf") if sent_at is None else time.monotonic() - sent_at


def poll_age_s(consumer: KafkaConsumer) -> float:
    """Return the seconds that kafka-python compares with ``max_poll_interval_ms`` before it leaves the group.

    They count from the last poll, or from the last lookup of the coordinator if that was later.
    The end of a join inside ``poll()`` counts as a poll, too.
    """
    return float(time.monotonic() - consumer._coordinator.heartbeat.last_poll)


def stable_heartbeat_at(consumer: KafkaConsumer) -> float | None:
    """Return when the last heartbeat was sent (``time.monotonic()``); -inf before the first.

    None: the consumer has not joined every rebalance reported so far.

    Up to that time the consumer has joined every rebalance.  None while a rebalance is under way, and until
    the response confirms the membership.
    """
    coordinator = consumer._coordinator
    # kafka-python sets ``rejoin_needed`` before it records the response, so the response is read first.
    sent_at = _answered_heartbeat_at(coordinator)
    if coordinator.rejoin_needed or coordinator.generation_if_stable() is None:
        return None
    return sent_at


def _answered_heartbeat_at(coordinator: Any) -> float | None:
    """Return when the last heartbeat was sent; None unless its response confirms the membership."""
    beat = coordinator.heartbeat
    sent, received = beat.last_send, beat.last_receive
    confirmed = getattr(coordinator, "_confirmed_at", sent)
    return float(sent) if received >= sent and confirmed >= sent else None


def is_fenced(consumer: KafkaConsumer) -> bool:
    """Whether another consumer joined with this one's ``group_instance_id`` (a heartbeat reports it).

    kafka-python then sends no more heartbeats, and goes on as if nothing had happened.
    """
    coordinator = consumer._coordinator
    with coordinator._lock:
        return bool(
            not coordinator.is_dynamic_member()
            and coordinator.state is MemberState.STABLE
            and not coordinator._heartbeat_enabled
            and not coordinator.rejoining  # a join stops heartbeats, too
        )


def is_settled(consumer: KafkaConsumer) -> bool:
    """Whether the consumer is in a group, with no join under way and no assignment to apply."""
    return bool(consumer._coordinator.state is MemberState.STABLE)


def static_member_id(consumer: KafkaConsumer) -> str | None:
    """Return a static member's member id, a new one after each restart; None for a dynamic member."""
    coordinator = consumer._coordinator
    return None if coordinator.is_dynamic_member() else str(coordinator._generation.member_id)


class Timeouts(NamedTuple):
    """The group timeouts of a consumer, in seconds."""

    session_s: float
    poll_s: float
    heartbeat_s: float  # between two heartbeats


def timeouts(consumer: KafkaConsumer) -> Timeouts:
    """Return the timeouts a consumer joins with."""
    config = consumer._coordinator.config
    names = ("session_timeout_ms", "max_poll_interval_ms", "heartbeat_interval_ms")
    return Timeouts(*(float(config[name] / 1000) for name in names))


def stop_producer(producer: KafkaProducer, timeout_s: float) -> None:
    """Stop a producer and drop its unsent records; ``close`` alone would wait for them."""
    producer._sender.force_close()
    producer._sender.join(timeout_s)


async def wait_for_job(consumer: KafkaConsumer, job: Future[Any]) -> None:
    """Wait on the I/O thread for another thread's job, without holding up heartbeats."""
    while not job.done():
        await consumer._coordinator._net.sleep(0.01)


def request_rejoin(consumer: KafkaConsumer) -> None:
    """Request a rebalance: at the next poll, or with a `ContinuousConsumer` also at the next heartbeat."""
    consumer._coordinator.request_rejoin()
