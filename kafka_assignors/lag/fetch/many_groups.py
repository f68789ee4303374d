"""Fetches names and states of many groups, and begins and ends of all their partitions, with few requests.

Each coordinator gets one DescribeGroups and one OffsetFetch for every hundred groups.  If some of these are
of the new protocol (KIP-848), it also gets one ConsumerGroupDescribe.  Each leader gets one ListOffsets for
the ends and one for the begins of a fetch.  A broker without KIP-699 gets one FindCoordinator for each group,
and a broker without KIP-709 one OffsetFetch for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from kafka.errors import KafkaError, KafkaTimeoutError, for_code
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest

from kafka_assignors.errors import GroupError
from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.errors import is_retriable_error, is_silence
from kafka_assignors.lag.fetch.gathering import Gathering
from kafka_assignors.lag.fetch.group import GroupState, describe_error, describe_request, is_new, state_of
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.sending import Sender
from kafka_assignors.plan import TopicPartition

_T = TypeVar("_T")
_MOST_GROUPS = 100
"""Maximum number of groups in a request."""
_WITH_COMMITS = ("", "consumer", "streams")
"""Protocol types of groups that can have commits.  A group that commits without members has no type."""


class GroupNamesFetch:
    """Lists all groups that can have commits, once.  ``run`` runs on the link's thread.

    Each broker lists the groups that it coordinates, so all brokers are asked, at the same time.  A broker
    leaves out groups that the user may not describe.

    Attributes:
        names: the groups of the brokers that answered.
        failures: number of a broker -> why its groups are not known.  Read these before the names, because a
            late response may still come.
    """

    def __init__(self, link: Link, deadline: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._sender = Sender(link, None, deadline, clock)
        self.names: set[str] = set()
        self.failures: dict[int, Exception] = {
            broker.node_id: KafkaTimeoutError("no response") for broker in link.manager.cluster.brokers()
        }

    async def run(self) -> None:
        """List the groups of all brokers."""
        for future in [self._link.manager.call_soon(self._list, node) for node in tuple(self.failures)]:
            await future

    async def _list(self, node: int) -> None:
        """List the groups of a broker; retry a failure that may pass while there is time."""
        for retry in count():
            try:
                response = await self._sender.send(ListGroupsRequest(), node)
                if response.error_code:
                    raise for_code(response.error_code)("groups")
            except KafkaError as error:
                self.failures[node] = error
            else:
                self.names |= {g.group_id for g in response.groups if g.protocol_type in _WITH_COMMITS}
                del self.failures[node]
                return
            if not is_retriable_error(self.failures[node]) or not await self._sender.pause(retry):
                return


class GroupsFetch:
    """Fetches the members and commits of groups, once.  ``run`` runs on the link's thread.

    Takes the arguments of a `Sender` except ``settings``, and further ones.

    Args:
        on_read: called with the known groups of each coordinator, perhaps none.

    Attributes:
        states: the groups that exist and are known.
        read_at: when the coordinator returned the commits of each group, on the clock.
        failures: group -> why it could not be read.  A group that does not exist is in no mapping.
    """

    def __init__(
        self,
        link: Link,
        group_ids: Iterable[str],
        deadline: float,
        on_read: Callable[[list[GroupState]], object] = len,
        *,
        clock: Callable[[], float] = time.monotonic,
        retries: int | None = None,
    ) -> None:
        self._manager = link.manager
        self._group_ids = list(dict.fromkeys(group_ids))
        self._clock = clock
        self._on_read = on_read
        self._sender = Sender(link, None, deadline, clock, retries)
        self.read_at: dict[str, float] = {}
        self.states: dict[str, GroupState] = {}
        self.failures: dict[str, KafkaError] = {
            group_id: KafkaTimeoutError("no response") for group_id in self._group_ids
        }

    async def run(self) -> None:
        """Fetch the groups; retry failures that may pass while there is time."""
        rest = self._group_ids
        for retry in count():
            if not rest:
                return
            by_node: dict[int, list[str]] = {}
            for group_id, node in (await self._coordinators(rest)).items():
                by_node.setdefault(node, []).append(group_id)
            for future in [self._manager.call_soon(self._read, node, ids) for node, ids in by_node.items()]:
                await future
            rest = [group_id for group_id in rest if is_retriable_error(self.failures.get(group_id))]
            if rest and not await self._sender.pause(retry):
                return

    @property
    def connection_failed(self) -> bool:
        """Whether a broker did not answer, so that a new link may help."""
        return any(map(is_silence, tuple(self.failures.values())))

    async def _coordinators(self, group_ids: Sequence[str]) -> dict[str, int]:
        """Return the coordinator of each group that has one."""
        nodes: dict[str, int] = {}
        version = self._sender.version(FindCoordinatorRequest)
        for chunk in _chunks(group_ids, _MOST_GROUPS if version >= requests.KEYS_VERSION else 1):
            try:
                response = await self._sender.send(requests.coordinators_request(chunk, version))
            except KafkaError as error:
                self.failures |= dict.fromkeys(chunk, error)
                continue
            rows = {row.key: row for row in getattr(response, "coordinators", None) or ()} or {
                chunk[0]: response
            }
            for group_id, row in rows.items():
                self._add_coordinator(nodes, group_id, row)
        return nodes

    def _add_coordinator(self, nodes: dict[str, int], group_id: str, row: Any) -> None:
        try:
            # kafka-python keeps every name that it is given, and a link may see many, so pass none.
            nodes[group_id] = self._manager.cluster.add_coordinator(
                row, CoordinatorType.GROUP, "", synthesize_node_id=False
            )
        except KafkaError as error:
            self.failures[group_id] = error

    async def _read(self, node: int, group_ids: Sequence[str]) -> None:
        """Read the groups of one coordinator."""
        for chunk in _chunks(group_ids, _MOST_GROUPS):
            try:
                response = await self._sender.send(DescribeGroupsRequest(groups=list(chunk)), node)
                described = {group.group_id: group for group in response.groups}
                described |= await self._new_protocol(node, list(filter(is_new, response.groups)))
                commits = await self._commits(node, chunk)
            except KafkaError as error:
                self.failures |= dict.fromkeys(chunk, error)
                continue
            now = self._clock()
            for group in described.values():
                self._take(group, commits, now)
        self._on_read([self.states[group_id] for group_id in group_ids if group_id in self.states])

    async def _new_protocol(self, node: int, groups: Sequence[Any]) -> dict[str, Any]:
        """Return the descriptions of groups of the new protocol (KIP-848) that the broker can describe."""
        if not groups:
            return {}
        request = describe_request([group.group_id for group in groups])
        try:
            response = await self._sender.send(request, node)
        except KafkaError as error:
            if is_retriable_error(error):
                raise
            return {}  # the commits of the groups still count
        return {group.group_id: group for group in response.groups if not group.error_code}

    async def _commits(self, node: int, group_ids: Sequence[str]) -> dict[str, Any]:
        """Return the part of the OffsetFetch responses for each group."""
        version = self._sender.version(OffsetFetchRequest)
        if version >= requests.GROUPS_VERSION:
            response = await self._sender.send(requests.offset_fetch_request(group_ids, None, version), node)
            return {group.group_id: group for group in response.groups}
        return {
            group_id: await self._sender.send(requests.offset_fetch_request([group_id], None, version), node)
            for group_id in group_ids
        }

    def _take(self, described: Any, commits: Mapping[str, Any], now: float) -> None:
        group_id = described.group_id
        try:
            if (error := describe_error(described)) is not None:
                raise error
            rows = requests.read_commits(commits[group_id], group_id)
            offsets = {tp: offset for tp, code, offset in rows if not code and offset >= 0}
            self.states[group_id] = state_of(group_id, described, offsets)
            self.read_at[group_id] = now
        except KafkaError as error:
            self.failures[group_id] = error
            return
        except GroupError:  # there is no such group
            pass
        del self.failures[group_id]


class EndsFetch(Gathering):
    """Fetches the begins and ends of partitions, without a group."""

    async def _fetch_commits(self) -> None:
        self._committed = dict.fromkeys(self.wanted)

    def _needs_begin(self, tp: TopicPartition, end: int) -> bool:
        return True

    @property
    def is_complete(self) -> bool:
        """Whether no retry could add a result: each partition has its offsets or a permanent error."""
        return self.failure is None and all(
            tp in self._permanent or (tp in self._ends and tp in self._begins) for tp in self.wanted
        )


def _chunks(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
