"""One look at the cluster: what to ask whom, again where it may help, until all is known or time is up.

Runs as coroutines on the link's thread; whoever waits takes what is there when its time is up.  Commits come
before ends (see ``arithmetic``), ends before begins, which then are asked for only where they matter.
Partitions go their way leader by leader, so that a broker that hangs holds up nobody else's.
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

__all__ = ["Gathering"]


class Gathering:
    """What one fetch has found so far.

    Args:
        link: where to ask.
        settings: whose commits, and what counts as the end.
        partitions: what to ask about.
        deadline: on the clock, in seconds; nothing is sent afterwards.
        all_begins: ask where each log begins, also where no lag depends on it.

    Attributes:
        failure: what ended it early.
        ended_at: when it was told where a log ends, on the clock.
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
        self._lost: dict[TopicPartition, str] = {}  # for good
        self._trouble: dict[
            TopicPartition, str
        ] = {}  # what brokers said last of those that are not known yet
        self._unanswered: dict[TopicPartition, KafkaError] = {}  # whose broker did not answer
        self.failure: Exception | None = None
        self.ended_at: dict[TopicPartition, float] = {}

    async def run(self) -> None:
        """Find out all there is; never raises."""
        try:
            await self._link.ready(self._left_ms())
            leaders = self._manager.call_soon(self._locate, self._wanted)
            await self._fetch_commits()
            await leaders
            await self._list_offsets(tuple(self._committed))
        except Exception as error:  # whatever it is, callers are told: a caller that waits for it is worse
            self.failure = error

    # --- what was found: may be asked at any time, from any thread ---

    def reading(self) -> Reading:
        """The lags that can be told by now, and reasons for the others.

        Raises:
            LagError: there is nothing to tell but that asking failed.
        """
        lags, offsets, missing = {}, {}, {}
        silent = None  # an answer that did not come, and is the reason for a partition's absence
        reset = self._settings.reset
        for tp in self._wanted:
            end, begin = self._ends.get(tp), self._begins.get(tp)
            if tp in self._lost:
                missing[tp] = self._lost[tp]
            elif end is not None and (begin is not None or not self._needs_begin(tp, end)):
                committed = self._committed[tp]  # known before the end was asked for
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
        """Whether a broker did not answer, so that a new link may do better."""
        return self.failure is not None or any(not self._is_done(tp) for tp in self._unanswered)

    # --- asking ---

    async def _fetch_commits(self) -> None:
        """All there are; on the way out for want of time, those there were.

        Raises:
            KafkaError: the group's coordinator does not tell.
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
            found = list(requests.read_offset_fetch(response, group_id))
        except KafkaError as error:
            return error
        for tp, code, offset in found:
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
        """Look for the leaders of those partitions that have none; leave those that have none in trouble."""
        leaders = self._link.leaders
        looked_for = [tp for tp in partitions if tp not in leaders and not self._is_done(tp)]
        if not looked_for:
            return
        try:
            response = await self._send(requests.metadata_request(sorted({tp.topic for tp in looked_for})))
        except KafkaError as error:
            self._did_not_answer(looked_for, error)
            return
        topics = {name: (code, found) for name, code, found in requests.read_leaders(response)}
        unknown = UnknownTopicOrPartitionError.errno
        for tp in looked_for:
            code, found = topics.get(tp.topic, (unknown, {}))
            if not code and tp.partition not in found:
                code = unknown
            if code == unknown:  # passes by itself only if somebody creates it
                self._lost[tp] = reason(code)
            elif code:
                self._note(tp, code)
            else:
                code, leader = found[tp.partition]
                if leader >= 0:
                    leaders[tp] = leader
                else:
                    self._note(tp, code or LeaderNotAvailableError.errno)

    async def _list_offsets(self, partitions: Sequence[TopicPartition]) -> None:
        """Ends and begins of partitions, those of each leader on their own."""
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
        """Whether there is nothing more to find out about it, or no use in trying."""
        end = self._ends.get(tp)
        if end is not None and (tp in self._begins or not self._needs_begin(tp, end)):
            return True
        return tp in self._lost or (tp in self._unanswered and not _may_pass(self._unanswered[tp]))

    def _needs_begin(self, tp: TopicPartition, end: int) -> bool:
        return self._all_begins or begin_matters(end, self._committed[tp], self._settings.reset)

    def _note(self, tp: TopicPartition, code: int) -> None:
        """Note what a broker says of one partition: it is in trouble if that may pass, else lost."""
        self._unanswered.pop(tp, None)
        (self._trouble if is_retriable(code) else self._lost)[tp] = reason(code)

    def _did_not_answer(self, partitions: Iterable[TopicPartition], error: KafkaError) -> None:
        """Note what kept a broker from answering, and that the leaders have to be looked for anew."""
        for tp in partitions:
            self._trouble.pop(tp, None)
            self._unanswered[tp] = error
            self._link.leaders.pop(tp, None)

    # --- sending ---

    async def _send(self, request: Any, node: int | None = None) -> Any:
        """The answer; without a node, of any that has time."""
        left_ms = self._left_ms()
        if node is None and len(self._manager.cluster.brokers()) > 1:
            left_ms /= 2  # it may be one that hangs: leave time to ask another
        if left_ms <= 0:
            raise _no_answer()
        timeout_ms = min(self._settings.request_timeout_ms, left_ms)
        return await self._manager.send(request, node, request_timeout_ms=timeout_ms)

    async def _pause(self) -> bool:
        """Wait a moment before something is tried again; False: there is no time for it."""
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
