"""Brokers that coordinate groups, behind the calls of a fetch of many groups."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from kafka.errors import KafkaTimeoutError
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_assignors.lag.fetch.group import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.many_groups import GroupsFetch
from tests.unit.lag.cluster import FakeLink, run_now


class Brokers:
    """Brokers that coordinate groups in turn, each with one commit.

    Attributes:
        partitions: with a commit of each group.
        sent: kind, broker and groups of each request.
        codes: returns the error code of a group, by the kind of request and the number of that request.
    """

    def __init__(self, group_ids: list[str], brokers: int = 1, version: int = 99) -> None:
        self.coordinators = {group_id: 1 + i % brokers for i, group_id in enumerate(group_ids)}
        self.version = version
        self.sent: list[tuple[str, int | None, list[str]]] = []
        self.codes: Callable[[str, str, int], int] = lambda *_: 0
        self.partitions = 1
        self.now = 0.0

    def node_ids(self) -> set[int]:
        """The brokers that coordinate a group."""
        return set(self.coordinators.values())

    def fetch(self, timeout_s: float = 5, **options: Any) -> GroupsFetch:
        """Fetch all groups."""
        link = cast(Link, FakeLink(self))
        fetch = GroupsFetch(link, self.coordinators, timeout_s, clock=lambda: self.now, **options)
        run_now(fetch.run())
        return fetch

    def answer(self, request: Any, node: int | None, _timeout_ms: float) -> Any:
        kind = type(request).__name__.removesuffix("Request")
        number = sum(each[0] == kind for each in self.sent)
        if isinstance(request, FindCoordinatorRequest):
            wanted = list(request.coordinator_keys or [request.key])
        elif isinstance(request, ConsumerGroupDescribeRequest):
            wanted = list(request.group_ids)
        elif isinstance(request, OffsetFetchRequest):
            wanted = [g.group_id for g in request.groups] if self.version >= 8 else [request.group_id]
        else:
            assert isinstance(request, DescribeGroupsRequest)
            wanted = list(request.groups)
        self.sent.append((kind, node, wanted))
        codes = {group_id: self.codes(kind, group_id, number) for group_id in wanted}
        if -1 in codes.values():
            raise KafkaTimeoutError("no response")
        if kind == "FindCoordinator":
            rows = [
                SimpleNamespace(key=g, node_id=self.coordinators[g], error_code=code)
                for g, code in codes.items()
            ]
            return SimpleNamespace(coordinators=rows) if self.version >= 4 else rows[0]
        if kind == "DescribeGroups":
            return SimpleNamespace(groups=[_description(g, code) for g, code in codes.items()])
        if kind == "ConsumerGroupDescribe":
            return SimpleNamespace(groups=[_new_description(g, code) for g, code in codes.items()])
        answers = [_commits(g, code, self.partitions) for g, code in codes.items()]
        return SimpleNamespace(groups=answers) if self.version >= 8 else answers[0]


def _description(group_id: str, code: int) -> Any:
    return SimpleNamespace(
        group_id=group_id,
        error_code=code,
        error_message="Group is not a classic group." if group_id.startswith("new") else None,
        group_state="Dead" if code else "Empty",
        protocol_type="consumer",
        protocol_data="",
        members=[],
    )


def _new_description(group_id: str, code: int) -> Any:
    kind = ConsumerGroupDescribeResponse.DescribedGroup
    topics = kind.Member.Assignment.TopicPartitions(topic_name="t", partitions=[0])
    member = kind.Member(
        member_id="m",
        instance_id=None,
        client_id="c",
        client_host="/10.0.0.1",
        assignment=kind.Member.Assignment(topic_partitions=[topics]),
    )
    return kind(group_id=group_id, error_code=code, assignor_name="uniform", members=[member])


def _commits(group_id: str, code: int, partitions: int) -> Any:
    rows = [
        SimpleNamespace(partition_index=p, error_code=0, committed_offset=len(group_id))
        for p in range(partitions)
    ]
    empty = group_id.startswith("empty")
    topics = [] if empty else [SimpleNamespace(name="t", partitions=rows)]
    return SimpleNamespace(group_id=group_id, error_code=code, topics=topics)
