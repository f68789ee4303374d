"""One fetch from the cluster: its requests, their order and their retries, until all is known or time is up.

Coroutines run on the link's thread.  A caller reads the result so far when its time is up.  Commits come
before ends (see ``arithmetic``), and ends before begins, which are fetched only if a lag depends on them.
Each leader's partitions proceed on their own, so that a broker that hangs does not hold up the others'.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    RetriableError,
    UnknownBrokerIdError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_assignors.lag.arithmetic import begin_matters, lag
from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.errors import is_retriable, lag_error, reason
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.lag.settings import FetchSettings
from kafka_assignors.plan import TopicPartition


class Gathering:
    """The state and the results of one fetch.

    Args:
        link: the connection.
        settings: the group, and the isolation level of ends.
        partitions: the partitions to fetch.
        deadline: on the clock, in seconds; no request is sent later.
        all_begins: also fetch begins that no lag depends on.

    Attributes:
        failure: the error that ended the fetch early.
        ended_at: when a broker returned each end, on the clock.
    """

    def __init__(
        self,
        link: Link,
        settings: FetchSettings,
        partitions: Collection[TopicPartition],
        deadline: float,
        *,
        all_begins: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._manager = link.manager
        self._settings = settings
        self._wanted = tuple(dict.fromkeys(TopicPartition(*tp) for tp in partitions))
        self._deadline = deadline
        self._clock = clock
        self._all_begins = all_begins
        self._committed: dict[TopicPartition, int | None] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._begins: dict[TopicPartition, int] = {}
        self._lost: dict[TopicPartition, str] = {}  # permanent errors
        self._trouble: dict[TopicPartition, str] = {}  # the last retriable error of a partition
        self._unanswered: dict[TopicPartition, KafkaError] = {}  # the broker did not answer
        self.failure: Exception | None = None
        self.ended_at: dict[TopicPartition, float] = {}

    async def run(self) -> None:
        """Fetch everything.  Never raises."""
        try:
            await self._link.ready(self._left_ms())
            leaders = self._manager.call_soon(self._locate, self._wanted)
            await self._fetch_commits()
            await leaders
            await self._list_offsets(tuple(self._committed))
        except Exception as error:  # `reading` reports it; without this the caller would wait in vain
            self.failure = error

    # --- results: any thread, any time ---

    def reading(self) -> Reading:
        """Return the lags known so far, and reasons for the others.

        Raises:
            LagError: no lag is known because the fetch failed.
        """
        lags, offsets, missing = {}, {}, {}
        silent = None  # a missing answer that is the reason for a missing lag
        reset = self._settings.reset
        for tp in self._wanted:
            end, begin = self._ends.get(tp), self._begins.get(tp)
            if tp in self._lost:
                missing[tp] = self._lost[tp]
            elif end is not None and (begin is not None or not self._needs_begin(tp, end)):
                committed = self._committed[tp]  # fetched before the end
                lags[tp] = lag(end, committed, begin, reset)
                offsets[tp] = Offsets(begin, end, committed)
            elif tp in self._trouble:
                missing[tp] = self._trouble[tp]
            else:
                silent = self._unanswered.get(tp) or self.failure or self._link.trouble or _no_answer()
                missing[tp] = str(lag_error(silent))
        if silent is not None and not lags:
            raise lag_error(self.failure or silent) from silent
        return Reading(lags, offsets, missing)

    @property
    def connection_failed(self) -> bool:
        """Whether a broker did not answer, so that a new link may help."""
        return self.failure is not None or any(not self._is_done(tp) for tp in self._unanswered)

    # --- requests ---

    async def _fetch_commits(self) -> None:
        """Fetch the commits of all partitions, or as many as time allows.

        Raises:
            KafkaError: the group's coordinator does not return them.
        """
        rest: Sequence[TopicPartition] = self._wanted
        while rest:
            failure = await self._ask_coordinator(rest)
            rest = [tp for tp in rest if tp not in self._committed and tp not in self._lost]
            out_of_time = bool(rest) and not ((failure is None or _may_pass(failure)) and await self._pause())
            if failure is not None and out_of_time:
                raise failure
            if out_of_time:
                return

    async def _ask_coordinator(self, partitions: Collection[TopicPartition]) -> KafkaError | None:
        group_id = self._settings.group_id
        try:
            node = await self._find_coordinator()
            version = self._version(OffsetFetchRequest)
            response = await self._send(requests.offset_fetch_request(group_id, partitions, version), node)
            rows = list(requests.read_offset_fetch(response, group_id))
        except KafkaError as error:
            return error
        for tp, code, offset in rows:
            if code:
                self._note(tp, code)
            else:
                self._committed[tp] = offset if offset >= 0 else None
        return None

    async def _find_coordinator(self) -> int:
        group_id = self._settings.group_id
        response = await self._send(
            requests.coordinator_request(group_id, self._version(FindCoordinatorRequest))
        )
        return requests.add_coordinator(self._manager.cluster, response, group_id)

    async def _locate(self, partitions: Collection[TopicPartition]) -> None:
        """Look up missing leaders; note partitions that have no leader as in trouble."""
        leaders = self._link.leaders
        unlocated = [tp for tp in partitions if tp not in leaders and not self._is_done(tp)]
        if not unlocated:
            return
        try:
            response = await self._send(requests.metadata_request(sorted({tp.topic for tp in unlocated})))
        except KafkaError as error:
            self._did_not_answer(unlocated, error)
            return
        topics = {name: (code, rows) for name, code, rows in requests.read_leaders(response)}
        unknown = UnknownTopicOrPartitionError.errno
        for tp in unlocated:
            code, rows = topics.get(tp.topic, (unknown, {}))
            if not code and tp.partition not in rows:
                code = unknown
            if code == unknown:  # a retry helps only if the topic is created meanwhile
                self._lost[tp] = reason(code)
            elif code:
                self._note(tp, code)
            else:
                code, leader = rows[tp.partition]
                if leader >= 0:
                    leaders[tp] = leader
                else:
                    self._note(tp, code or LeaderNotAvailableError.errno)

    async def _list_offsets(self, partitions: Sequence[TopicPartition]) -> None:
        """Fetch ends and begins, for each leader on its own."""
        rest = [tp for tp in partitions if not self._is_done(tp)]
        while rest:
            await self._locate(rest)
            by_leader: dict[int | None, list[TopicPartition]] = {}
            for tp in rest:
                if not self._is_done(tp):
                    by_leader.setdefault(self._link.leaders.get(tp), []).append(tp)
            if len(by_leader) > 1:
                strands = [self._manager.call_soon(self._list_offsets, tps) for tps in by_leader.values()]
                for strand in strands:
                    await strand
                return
            for leader, tps in by_leader.items():
                if leader is not None:
                    await self._ask_leader(leader, tps, requests.END, self._ends)
                    needed = [tp for tp in tps if tp in self._ends and self._needs_begin(tp, self._ends[tp])]
                    await self._ask_leader(leader, needed, requests.BEGIN, self._begins)
            rest = [tp for tp in rest if not self._is_done(tp)]
            if rest and not await self._pause():
                return

    async def _ask_leader(
        self,
        leader: int,
        partitions: Collection[TopicPartition],
        which: int,
        known: dict[TopicPartition, int],
    ) -> None:
        asked = [tp for tp in partitions if tp not in known]
        if not asked:
            return
        try:
            response = await self._send(
                requests.offset_list_request(asked, which, self._settings.isolation), leader
            )
        except KafkaError as error:
            self._did_not_answer(asked, error)
            return
        now = self._clock()
        if which == requests.END:
            self.ended_at |= dict.fromkeys(asked, now)
        for tp, code, offset in requests.read_offset_list(response):
            if code:
                self._note(tp, code)
                self._link.leaders.pop(tp, None)
            else:
                known[tp] = offset

    def _is_done(self, tp: TopicPartition) -> bool:
        """Whether a partition is completely known, or a retry cannot help."""
        end = self._ends.get(tp)
        if end is not None and (tp in self._begins or not self._needs_begin(tp, end)):
            return True
        return tp in self._lost or (tp in self._unanswered and not _may_pass(self._unanswered[tp]))

    def _needs_begin(self, tp: TopicPartition, end: int) -> bool:
        return self._all_begins or begin_matters(end, self._committed[tp], self._settings.reset)

    def _note(self, tp: TopicPartition, code: int) -> None:
        """Note a partition's error as trouble if it may pass, else as permanent."""
        self._unanswered.pop(tp, None)
        (self._trouble if is_retriable(code) else self._lost)[tp] = reason(code)

    def _did_not_answer(self, partitions: Iterable[TopicPartition], error: KafkaError) -> None:
        """Note that a broker did not answer, and forget the leaders, so that they are looked up again."""
        for tp in partitions:
            self._trouble.pop(tp, None)
            self._unanswered[tp] = error
            self._link.leaders.pop(tp, None)

    # --- sending ---

    async def _send(self, request: Any, node: int | None = None) -> Any:
        """Send a request to a node, or to any broker, and return the answer."""
        left_ms = self._left_ms()
        if node is None and len(self._manager.cluster.brokers()) > 1:
            left_ms /= 2  # the broker may hang: leave time to ask another
        if left_ms <= 0:
            raise _no_answer()
        timeout_ms = min(self._settings.request_timeout_ms, left_ms)
        return await self._manager.send(request, node, request_timeout_ms=timeout_ms)

    async def _pause(self) -> bool:
        """Pause before a retry; False if there is no time for it."""
        pause_ms = self._settings.retry_backoff_ms
        if pause_ms >= self._left_ms():
            return False
        await self._link.sleep(pause_ms / 1000)
        return True

    def _left_ms(self) -> float:
        return (self._deadline - self._clock()) * 1000

    def _version(self, kind: Any) -> int:
        version: int = self._manager.broker_version_data.api_version(kind)
        return version


def _may_pass(error: KafkaError) -> bool:
    return isinstance(error, (RetriableError, UnknownBrokerIdError))


def _no_answer() -> KafkaError:
    return KafkaTimeoutError("no answer")
