"""The four requests a fetch is made of, and reading their answers partition by partition.

kafka-python's admin client has calls for the same requests, batched as well, but each raises for all
partitions because of a single one that is denied, unknown or without a leader, and some do not say which one
it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from kafka.errors import for_code
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest, OffsetSpec
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest, MetadataRequest

from kafka_assignors.plan import TopicPartition

__all__ = [
    "BEGIN",
    "END",
    "add_coordinator",
    "coordinator_request",
    "metadata_request",
    "offset_fetch_request",
    "offset_list_request",
    "read_leaders",
    "read_offset_fetch",
    "read_offset_list",
]

BEGIN, END = int(OffsetSpec.EARLIEST), int(OffsetSpec.LATEST)

_GROUPS = 8
"""From this version an OffsetFetch is about several groups (KIP-709)."""
_KEYS = 4
"""From this version a FindCoordinator is about several keys (KIP-699)."""


def metadata_request(topics: Iterable[str]) -> Any:
    """Ask for the leaders of topics; none is created by asking."""
    return MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in topics],
        allow_auto_topic_creation=False,
    )


def read_leaders(response: Any) -> Iterator[tuple[str, int, dict[int, tuple[int, int]]]]:
    """Topic, its error, and for each of its partitions the error and the leader, -1 without one."""
    for topic in response.topics:
        yield (
            topic.name,
            topic.error_code,
            {p.partition_index: (p.error_code, p.leader_id) for p in topic.partitions},
        )


def coordinator_request(group_id: str, version: int) -> Any:
    """Ask which broker keeps a group's commits; ``version`` is the highest the broker knows."""
    kind = CoordinatorType.GROUP.value
    if version >= _KEYS:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=[group_id], min_version=_KEYS)
    return FindCoordinatorRequest(key=group_id, key_type=kind, max_version=_KEYS - 1)


def add_coordinator(cluster: Any, response: Any, group_id: str) -> int:
    """Tell kafka-python's picture of the cluster; returns the broker's number.

    Raises:
        BrokerResponseError: there is none, or not for us.
    """
    row = response.coordinators[0] if response.API_VERSION >= _KEYS else response
    node: int = cluster.add_coordinator(row, CoordinatorType.GROUP, group_id, synthesize_node_id=False)
    return node


def offset_fetch_request(group_id: str, partitions: Iterable[TopicPartition] | None, version: int) -> Any:
    """Ask for a group's commits, all there are if partitions is None.

    ``version`` is the highest the broker knows.
    """
    kind, group = OffsetFetchRequest, OffsetFetchRequest.OffsetFetchRequestGroup
    one = kind.OffsetFetchRequestTopic if version < _GROUPS else group.OffsetFetchRequestTopics
    topics = None
    if partitions is not None:
        topics = [
            one(name=name, partition_indexes=numbers) for name, numbers in _by_topic(partitions).items()
        ]
    if version < _GROUPS:
        return kind(group_id=group_id, topics=topics, max_version=_GROUPS - 1)
    # Versions after this one want to know the topics' ids instead of their names.
    return kind(groups=[group(group_id=group_id, topics=topics)], min_version=_GROUPS, max_version=_GROUPS)


def read_offset_fetch(response: Any, group_id: str) -> Iterator[tuple[TopicPartition, int, int]]:
    """Partition, error and commit of each; -1 is no commit.

    Raises:
        BrokerResponseError: the group's commits are not here, or not for us.
    """
    about = response.groups[0] if response.API_VERSION >= _GROUPS else response
    if about.error_code:
        raise for_code(about.error_code)(f"commits of group {group_id!r}")
    for topic in about.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.committed_offset


def offset_list_request(partitions: Collection[TopicPartition], which: int, isolation: int) -> Any:
    """Ask a leader where logs begin, or end.  From version 1 on; 0 answers with lists of segments."""
    topic = ListOffsetsRequest.ListOffsetsTopic
    one = topic.ListOffsetsPartition
    return ListOffsetsRequest(
        isolation_level=isolation,
        topics=[
            topic(name=name, partitions=[one(partition_index=number, timestamp=which) for number in numbers])
            for name, numbers in _by_topic(partitions).items()
        ],
        min_version=2 if isolation else 1,
    )


def read_offset_list(response: Any) -> Iterator[tuple[TopicPartition, int, int]]:
    """Partition, error and offset of each."""
    for topic in response.topics:
        name = topic.name
        for p in topic.partitions:
            yield TopicPartition(name, p.partition_index), p.error_code, p.offset


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found
