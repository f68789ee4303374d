"""The requests of a fetch, and the decoding of their responses partition by partition.

kafka-python's admin client has batched calls for the same requests.  But each raises for all partitions if a
single one is denied, unknown or without a leader, and some errors do not name the partition that failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka.errors import for_code
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetFetchRequest, OffsetSpec
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire.primitives import by_topic

BEGIN, END = int(OffsetSpec.EARLIEST), int(OffsetSpec.LATEST)

GROUPS_VERSION = 8
"""From this version, an OffsetFetch can name several groups (KIP-709)."""
KEYS_VERSION = 4
"""From this version, a FindCoordinator can name several keys (KIP-699)."""
_LAST_VERSION_WITH_NAMES = 12
"""Later versions of Fetch take topic ids instead of names (KIP-516)."""


def metadata_request(topics: Iterable[str]) -> Any:
    """Build a request for the leaders of topics; it creates no topics."""
    return MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
    )


def read_leaders(response: Any) -> Iterator[tuple[str, int, dict[int, tuple[int, int]]]]:
    """Yield each topic, its error code, and partition -> (error code, leader); -1 is no leader."""
    for topic in response.topics:
        yield (
            topic.name,
            topic.error_code,
            {p.partition_index: (p.error_code, p.leader_id) for p in topic.partitions},
        )


def coordinators_request(group_ids: Sequence[str], version: int) -> Any:
    """Build a request for the coordinators of groups.

    Args:
        group_ids: the groups; a single one before version ``KEYS_VERSION``.
        version: the highest that the broker supports.
    """
    kind = CoordinatorType.GROUP.value
    if version >= KEYS_VERSION:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=[*group_ids], min_version=KEYS_VERSION)
    (group_id,) = group_ids
    return FindCoordinatorRequest(key=group_id, key_type=kind, max_version=KEYS_VERSION - 1)


def add_coordinator(cluster: Any, response: Any, group_id: str) -> int:
    """Add the coordinator to kafka-python's cluster metadata; return its node id.

    Raises:
        BrokerResponseError: there is no coordinator, or access is denied.
    """
    coordinator = response.coordinators[0] if response.API_VERSION >= KEYS_VERSION else response
    node_id: int = cluster.add_coordinator(
        coordinator, CoordinatorType.GROUP, group_id, synthesize_node_id=False
    )
    return node_id


def offset_fetch_request(
    group_ids: Sequence[str], partitions: Iterable[TopicPartition] | None, version: int
) -> Any:
    """Build a request for the commits of groups.

    Args:
        group_ids: the groups; a single one before version ``GROUPS_VERSION``.
        partitions: the partitions whose commits are wanted, of each group; None: all.
        version: the highest that the broker supports.
    """
    kind, group = OffsetFetchRequest, OffsetFetchRequest.OffsetFetchRequestGroup
    topic_type = kind.OffsetFetchRequestTopic if version < GROUPS_VERSION else group.OffsetFetchRequestTopics
    topics = None
    if partitions is not None:
        topics = [
            topic_type(name=name, partition_indexes=numbers) for name, numbers in by_topic(partitions).items()
        ]
    if version < GROUPS_VERSION:
        (group_id,) = group_ids
        return kind(group_id=group_id, topics=topics, max_version=GROUPS_VERSION - 1)
    groups = [group(group_id=group_id, topics=topics) for group_id in group_ids]
    # Version 9 adds member epochs; version 10 replaces names by topic ids.
    return kind(groups=groups, min_version=GROUPS_VERSION, max_version=GROUPS_VERSION)


def read_commits(group: Any, group_id: str) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield partition, error code and committed offset, from a group's part of the response; -1 is no commit.

    Raises:
        BrokerResponseError: this broker is not the coordinator, or access is denied.
    """
    if group.error_code:
        raise for_code(group.error_code)(f"commits of group {group_id!r}")
    for topic in group.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.committed_offset


def offset_list_request(partitions: Collection[TopicPartition], which: int, isolation: int) -> Any:
    """Build a request for the earliest (``BEGIN``) or latest (``END``) offsets."""
    topic = ListOffsetsRequest.ListOffsetsTopic
    partition_type = topic.ListOffsetsPartition
    return ListOffsetsRequest(
        isolation_level=isolation,
        topics=[
            topic(
                name=name,
                partitions=[partition_type(partition_index=number, timestamp=which) for number in numbers],
            )
            for name, numbers in by_topic(partitions).items()
        ],
        min_version=2 if isolation else 1,  # version 0 returns lists of offsets
    )


def read_offset_list(response: Any) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield partition, error code and offset."""
    for topic in response.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.offset


def fetch_request(
    offsets: Mapping[TopicPartition, int], partition_max_bytes: int, max_bytes: int, isolation: int
) -> Any:
    """Build a request for the records that the broker has now, from an offset of each partition.

    Args:
        offsets: the offset to read from, by partition.  The broker fills ``max_bytes`` topic by topic, so the
            last topics may get nothing.
        partition_max_bytes: most bytes of a partition; the response's first batch may be larger (KIP-74).
        max_bytes: most bytes of all partitions.
        isolation: 1 (read_committed): the response leaves out open transactions and lists aborted ones.
    """
    topic = FetchRequest.FetchTopic
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=isolation,
        topics=[
            topic(
                topic=name,
                partitions=[
                    topic.FetchPartition(
                        partition=number,
                        fetch_offset=offsets[TopicPartition(name, number)],
                        partition_max_bytes=partition_max_bytes,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(offsets).items()
        ],
        min_version=4,
        max_version=_LAST_VERSION_WITH_NAMES,
    )


def read_fetch(response: Any) -> Iterator[tuple[TopicPartition, Any]]:
    """Yield each partition with its part of the response.

    Raises:
        BrokerResponseError: the broker refuses the whole request.
    """
    if response.API_VERSION >= 7 and response.error_code:
        raise for_code(response.error_code)("records")
    for topic in response.responses:
        name = topic.topic
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p
