"""Looks at a cluster as the pipeline needs them: one topic, what groups there are, many groups at once.

``LagFetcher`` is about one group, and keeps a connection for it.  A thousand groups would be a thousand
connections; this has one, and has no more than ``_AT_ONCE`` groups' requests under way on it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from kafka.errors import KafkaTimeoutError, UnknownTopicOrPartitionError, for_code
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_assignors.errors import LagError
from kafka_assignors.lag import fetch_requests as requests
from kafka_assignors.lag.fetch_errors import hopeless, lag_error
from kafka_assignors.lag.fetch_gathering import Gathering
from kafka_assignors.lag.fetch_link import Link
from kafka_assignors.lag.reading import Reading
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

__all__ = ["ClusterLook", "GroupLook", "TopicLook"]

_AT_ONCE = 50
_PAUSE_S = 0.1
_ANY = "-"  # a group's name where none is meant

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicLook:
    """A topic at one moment, by number of partition.

    Attributes:
        cluster_id: of the cluster it is in.
        begins: offset of the oldest record.
        ends: offset of the next record to be written.
        oldest_ms: time of the oldest record (ms since 1970); not there: the partition has no record.
        since: offset of the first record of the time asked for, or later; the end where there is none.
    """

    cluster_id: str
    begins: Mapping[int, int]
    ends: Mapping[int, int]
    oldest_ms: Mapping[int, int]
    since: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class GroupLook:
    """A group at one moment.

    Attributes:
        time: when the answers were in, seconds since 1970.
        reading: of all partitions of the topics it has commits in; None: ``error`` says why there is none.
        error: what went wrong.
    """

    time: float
    reading: Reading | None
    error: LagError | None = None


@dataclass(frozen=True, slots=True)
class _Looks:
    """What there is so far: groups that are done with, and what the others fail for."""

    topics: frozenset[str]
    found: dict[str, GroupLook] = field(default_factory=dict)
    troubles: dict[str, BaseException] = field(default_factory=dict)

    def of(self, group_id: str) -> GroupLook:
        if (look := self.found.get(group_id)) is not None:
            return look
        trouble = self.troubles.get(group_id) or KafkaTimeoutError("no answer")
        return GroupLook(time.time(), None, lag_error(trouble))


class ClusterLook:
    """Asks a cluster, over one connection that is made when it is needed, and made anew after a failure.

    For one thread at a time.  It owns one daemon thread while it is connected.

    Args:
        consumer_config: keyword arguments as ``KafkaConsumer`` takes them; what is about the connection
            counts.

    Raises:
        OptionError: a configuration that cannot work; it names the field.
    """

    def __init__(self, consumer_config: Mapping[str, Any]) -> None:
        self._settings = fetch_settings(consumer_config, _ANY, "earliest")
        self._link: Link | None = None

    def __enter__(self) -> ClusterLook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def topic(self, name: str, timeout_s: float, since_ms: int = 0) -> TopicLook:
        """Where the partitions of a topic begin and end, and what is in them since a time.

        Raises:
            LagError: it is not there, not for us to see, or nobody says; the class tells which.
        """
        return self._persist(lambda link, until: self._topic(link, until, name, since_ms), timeout_s)

    def groups(self, timeout_s: float) -> tuple[str, ...]:
        """The names of all groups that we may see, sorted.

        Raises:
            LagError: nobody says.
        """
        return self._persist(self._groups, timeout_s)

    def look(
        self, group_ids: Iterable[str], timeout_s: float, topics: Collection[str] = ()
    ) -> dict[str, GroupLook]:
        """The offsets of groups, in all partitions of the topics they have commits in.

        A broker that is away is waited for until the time is up.

        Args:
            group_ids: of any groups, whether they exist or not.
            timeout_s: for all of them.
            topics: look at these, too, whether there are commits or not.

        Returns:
            What was found of each group; never an exception because of one of them.
        """
        until = time.monotonic() + timeout_s
        state = _Looks(frozenset(topics))
        wanted = tuple(dict.fromkeys(group_ids))
        while left := [group for group in wanted if group not in state.found]:
            try:
                link = self._ready(until)
                link.run(self._look, link, until, left, state, timeout_s=max(until - time.monotonic(), 0.01))
            except Exception as error:  # one for all of them, whatever it is
                state.troubles.update(dict.fromkeys(left, error))
                self.close()
                if hopeless(error):
                    break
            if time.monotonic() + _PAUSE_S > until:
                break
            if len(state.found) < len(wanted):
                time.sleep(_PAUSE_S)
        return {group: state.of(group) for group in wanted}

    def close(self) -> None:
        """End the connection; the next look makes a new one."""
        if self._link is not None:
            self._link.shut()
            self._link.wait_shut(1)
            self._link = None

    def _ready(self, until: float) -> Link:
        if self._link is None:
            self._link = Link(self._settings.client)
        left_s = max(until - time.monotonic(), 0.01)
        self._link.run(self._link.ready, left_s * 1000, timeout_s=left_s)
        return self._link

    def _persist(self, ask: Callable[[Link, float], Awaitable[T]], timeout_s: float) -> T:
        """Ask until there is an answer, or what is wrong will not pass, or the time is up."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                link = self._ready(until)
                return link.run(ask, link, until, timeout_s=max(until - time.monotonic(), 0.01))
            except Exception as error:
                self.close()
                may_pass = getattr(error, "retriable", True) and not isinstance(
                    error, UnknownTopicOrPartitionError
                )
                if hopeless(error) or not may_pass or time.monotonic() + _PAUSE_S > until:
                    raise lag_error(error) from error
            time.sleep(_PAUSE_S)

    # --- on the link's own thread ---

    async def _topic(self, link: Link, until: float, name: str, since_ms: int) -> TopicLook:
        response = await self._send(link, until, requests.metadata_request([name]))
        by_leader: dict[int, list[TopicPartition]] = {}
        for _, code, partitions in requests.read_leaders(response):
            _check(code, f"topic {name!r}")
            for number, (trouble, leader) in partitions.items():
                _check(trouble if leader < 0 else 0, f"topic {name!r}")
                by_leader.setdefault(leader, []).append(TopicPartition(name, number))
        found: dict[int, dict[TopicPartition, tuple[int, int]]] = {}
        for leader, tps in by_leader.items():
            for which in (requests.BEGIN, requests.END, 0, since_ms):
                request = requests.offset_list_request(tps, which, self._settings.isolation)
                answer = await self._send(link, until, request, leader)
                for tp, code, offset, ms in requests.read_offset_times(answer):
                    _check(code, f"topic {name!r}")
                    found.setdefault(which, {})[tp] = (offset, ms)
        begins, ends = ({tp.partition: at for tp, (at, _) in found[w].items()} for w in (-2, -1))
        oldest = {tp.partition: ms for tp, (_, ms) in found[0].items() if ms >= 0}
        since = {
            tp.partition: at if at >= 0 else ends[tp.partition] for tp, (at, _) in found[since_ms].items()
        }
        return TopicLook(str(response.cluster_id), begins, ends, oldest, since)

    async def _groups(self, link: Link, until: float) -> tuple[str, ...]:
        names: set[str] = set()
        for broker in link.manager.cluster.brokers():
            response = await self._send(link, until, ListGroupsRequest(), broker.node_id)
            _check(response.error_code, "list of groups")
            names |= {
                g.group_id for g in response.groups if g.group_id and g.protocol_type in ("consumer", "")
            }
        return tuple(sorted(names))

    async def _look(self, link: Link, until: float, group_ids: Sequence[str], state: _Looks) -> None:
        """Look at each once.  What may pass stays with the troubles, for whoever asked to try again."""
        rest = iter(group_ids)
        while batch := list(islice(rest, _AT_ONCE)):
            for call in [link.manager.call_soon(self._look_at, link, until, g, state) for g in batch]:
                await call

    async def _look_at(self, link: Link, until: float, group_id: str, state: _Looks) -> None:
        try:
            committed = await self._committed_topics(link, until, group_id)
            partitions = await self._partitions(link, until, sorted(committed | state.topics))
            reading = Reading({}, {}, {})
            if partitions:
                settings = replace(self._settings, group_id=group_id)
                gathering = Gathering(link, settings, partitions, until, all_begins=True)
                await gathering.run()
                reading = gathering.reading()
            state.found[group_id] = GroupLook(time.time(), reading)
        except Exception as error:
            if getattr(error, "retriable", isinstance(error, LagError)) and not hopeless(error):
                state.troubles[group_id] = error
            else:
                state.found[group_id] = GroupLook(time.time(), None, lag_error(error))

    async def _committed_topics(self, link: Link, until: float, group_id: str) -> set[str]:
        versions = link.manager.broker_version_data
        response = await self._send(
            link, until, requests.coordinator_request(group_id, versions.api_version(FindCoordinatorRequest))
        )
        node = requests.add_coordinator(link.manager.cluster, response, group_id)
        request = requests.offset_fetch_request(group_id, None, versions.api_version(OffsetFetchRequest))
        response = await self._send(link, until, request, node)
        return {
            tp.topic
            for tp, code, at in requests.read_offset_fetch(response, group_id)
            if not code and at >= 0
        }

    async def _partitions(self, link: Link, until: float, topics: Sequence[str]) -> list[TopicPartition]:
        if not topics:
            return []
        response = await self._send(link, until, requests.metadata_request(topics))
        return [
            TopicPartition(name, number)
            for name, _, partitions in requests.read_leaders(response)
            for number in sorted(partitions)
        ]

    async def _send(self, link: Link, until: float, request: Any, node: int | None = None) -> Any:
        left_ms = max((until - time.monotonic()) * 1000, 1)
        timeout_ms = min(self._settings.request_timeout_ms, left_ms)
        return await link.manager.send(request, node, request_timeout_ms=timeout_ms)


def _check(code: int, what: str) -> None:
    if code:
        raise for_code(code)(what)
