"""The requests of a fetch, and the decoding of their responses partition by partition.

kafka-python's admin client has batched calls for the same requests.  But each raises for all partitions if a
single one is denied, unknown or without a leader, and some errors do not name this partition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka.errors import for_code
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetFetchRequest, OffsetSpec
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from kafka_assignors.plan import TopicPartition

BEGIN, END = int(OffsetSpec.EARLIEST), int(OffsetSpec.LATEST)

MANY_GROUPS = 8
"""From this version on an OffsetFetch has several groups (KIP-709)."""
MANY_KEYS = 4
"""From this version on a FindCoordinator has several keys (KIP-699)."""
_NAMES = 12
"""Later versions of Fetch take topic ids instead of names (KIP-516)."""


def metadata_request(topics: Iterable[str]) -> Any:
    """Request the leaders of topics, without creating topics."""
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
    """Request the coordinators of groups.

    Args:
        group_ids: the groups; a single one before version ``MANY_KEYS``.
        version: the highest that the broker supports.
    """
    kind = CoordinatorType.GROUP.value
    if version >= MANY_KEYS:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=list(group_ids), min_version=MANY_KEYS)
    (group_id,) = group_ids
    return FindCoordinatorRequest(key=group_id, key_type=kind, max_version=MANY_KEYS - 1)


def add_coordinator(cluster: Any, response: Any, group_id: str) -> int:
    """Add the coordinator to kafka-python's cluster metadata; return the broker's number.

    Raises:
        BrokerResponseError: there is no coordinator, or access is denied.
    """
    row = response.coordinators[0] if response.API_VERSION >= MANY_KEYS else response
    node: int = cluster.add_coordinator(row, CoordinatorType.GROUP, group_id, synthesize_node_id=False)
    return node


def offset_fetch_request(group_id: str, partitions: Iterable[TopicPartition] | None, version: int) -> Any:
    """Request a group's commits.

    Args:
        group_id: the group.
        partitions: the partitions whose commits are wanted; None: all.
        version: the highest that the broker supports.
    """
    kind, group = OffsetFetchRequest, OffsetFetchRequest.OffsetFetchRequestGroup
    topic_type = kind.OffsetFetchRequestTopic if version < MANY_GROUPS else group.OffsetFetchRequestTopics
    topics = None
    if partitions is not None:
        topics = [
            topic_type(name=name, partition_indexes=numbers) for name, numbers in by_topic(partitions).items()
        ]
    if version < MANY_GROUPS:
        return kind(group_id=group_id, topics=topics, max_version=MANY_GROUPS - 1)
    # Later versions take topic ids instead of names.
    return kind(
        groups=[group(group_id=group_id, topics=topics)], min_version=MANY_GROUPS, max_version=MANY_GROUPS
    )


def all_commits_request(group_ids: Iterable[str]) -> Any:
    """Request all commits of groups; needs version ``MANY_GROUPS``."""
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    groups = [group(group_id=group_id, topics=None) for group_id in group_ids]
    # Later versions take topic ids instead of names.
    return OffsetFetchRequest(groups=groups, min_version=MANY_GROUPS, max_version=MANY_GROUPS)


def read_offset_fetch(response: Any, group_id: str) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield partition, error code and committed offset; -1 is no commit.

    Raises:
        BrokerResponseError: this broker is not the coordinator, or access is denied.
    """
    return read_commits(response.groups[0] if response.API_VERSION >= MANY_GROUPS else response, group_id)


def read_commits(group: Any, group_id: str) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield as ``read_offset_fetch`` does, from a group's part of the response."""
    if group.error_code:
        raise for_code(group.error_code)(f"commits of group {group_id!r}")
    for topic in group.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.committed_offset


def offset_list_request(partitions: Collection[TopicPartition], which: int, isolation: int) -> Any:
    """Request the begins or ends of logs.

    Args:
        partitions: the partitions.
        which: ``BEGIN`` or ``END``.
        isolation: as in ``FetchSettings``.
    """
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
        min_version=2 if isolation else 1,  # version 0 returns lists of segments
    )


def read_offset_list(response: Any) -> Iterator[tuple[TopicPartition, int, int]]:
    """Yield partition, error code and offset."""
    for topic in response.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.offset


def fetch_request(offsets: Mapping[TopicPartition, int], each: int, total: int, isolation: int) -> Any:
    """Request the records that the broker has at once, from an offset of each partition.

    Args:
        offsets: the first offset of each partition, in the order in which the broker reads.
        each: most bytes of a partition.  The first one that has records returns a whole batch anyway
            (KIP-74).
        total: most bytes of all.
        isolation: with 1 the response has no records of open transactions, and lists the aborted ones.
    """
    topic = FetchRequest.FetchTopic
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=total,
        isolation_level=isolation,
        topics=[
            topic(
                topic=name,
                partitions=[
                    topic.FetchPartition(
                        partition=number,
                        fetch_offset=offsets[TopicPartition(name, number)],
                        partition_max_bytes=each,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(offsets).items()
        ],
        min_version=4,
        max_version=_NAMES,
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


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of the partitions of each topic."""
    numbers: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return numbers
