"""One fetch from the cluster: its requests, their order and their retries, until all is known or time is up.

Coroutines run on the link's thread.  The caller reads the results so far when its time is up.  Commits are
fetched before ends (see ``arithmetic``), and ends before begins.  Only the begins that a lag depends on are
fetched, unless all are wanted.  The partitions of each leader are fetched on their own, so that a broker that
hangs does not delay the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count

from kafka.errors import KafkaError, KafkaTimeoutError, UnknownTopicOrPartitionError
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_assignors.lag.arithmetic import begin_matters, lag
from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.errors import is_retriable, is_retriable_error, is_silence, lag_error, reason
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.sending import Sender
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.lag.settings import FetchSettings
from kafka_assignors.plan import TopicPartition


class Gathering:
    """The state and the results of one fetch.  Takes the arguments of a `Sender`, and further ones.

    Args:
        all_begins: whether to fetch all begins, also those that no lag depends on.

    Attributes:
        wanted: the partitions, each once.
        failure: the error that ended the fetch early; None: it did not end early.
        end_read_at: when a broker returned each end, on the clock.
    """

    def __init__(
        self,
        link: Link,
        settings: FetchSettings,
        partitions: Collection[TopicPartition],
        deadline: float,
        *,
        all_begins: bool = False,
        clock: Callable[[], float] = time.monotonic,
        retries: int | None = None,
    ) -> None:
        self._link = link
        self._manager = link.manager
        self._settings = settings
        self.wanted = tuple(dict.fromkeys(TopicPartition(*tp) for tp in partitions))
        self._sender = Sender(link, settings, deadline, clock, retries)
        self._clock = clock
        self._all_begins = all_begins
        self._committed: dict[TopicPartition, int | None] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._begins: dict[TopicPartition, int] = {}
        self._permanent: dict[TopicPartition, str] = {}  # errors that a retry cannot help
        self._passing: dict[TopicPartition, str] = {}  # the last retriable error of a partition
        self._unanswered: dict[TopicPartition, KafkaError] = {}  # the broker did not answer
        self.failure: Exception | None = None
        self.end_read_at: dict[TopicPartition, float] = {}

    async def run(self) -> None:
        """Fetch everything.  Never raises."""
        try:
            await self._link.ready(self._sender.left_ms())
            leaders = self._manager.call_soon(self._locate, self.wanted)
            await self._fetch_commits()
            await leaders
            await self._list_offsets(tuple(self._committed))
        except Exception as error:  # `reading` reports it
            self.failure = error

    # --- results: any thread, any time ---

    def reading(self) -> Reading:
        """Return the lags known so far, and reasons for the others.

        Raises:
            LagError: no lag is known because the fetch failed.
        """
        lags, offsets, missing = {}, {}, {}
        unread = None  # failure behind the last missing lag whose partition has no error noted
        reset = self._settings.reset
        for tp in self.wanted:
            end, begin = self._ends.get(tp), self._begins.get(tp)
            if tp in self._permanent:
                missing[tp] = self._permanent[tp]
            elif end is not None and (begin is not None or not self._needs_begin(tp, end)):
                committed = self._committed[tp]  # fetched before the end
                lags[tp] = lag(end, committed, begin, reset)
                offsets[tp] = Offsets(begin, end, committed)
            elif (why := self._passing.get(tp)) is not None:
                missing[tp] = why
            else:
                cause = self._unanswered.get(tp) or self.failure or self._link.connection_failure
                unread = cause or KafkaTimeoutError("no response")
                missing[tp] = str(lag_error(unread))
        if unread is not None and not lags:
            raise lag_error(self.failure or unread) from unread
        return Reading(lags, offsets, missing)

    @property
    def connection_failed(self) -> bool:
        """Whether to use a new link next: a broker did not answer, or this link never connected."""
        ended_early = self.failure is not None and (
            is_silence(self.failure) or self._link.connection_failure is not None
        )
        return ended_early or any(not self._is_done(tp) for tp in self._unanswered)

    # --- requests ---

    async def _fetch_commits(self) -> None:
        """Fetch the commits of all partitions, or as many as time allows.

        Raises:
            KafkaError: the group's coordinator does not return them.
        """
        rest: Sequence[TopicPartition] = self.wanted
        for retry in count():
            if not rest:
                return
            failure = await self._ask_coordinator(rest)
            rest = [tp for tp in rest if tp not in self._committed and tp not in self._permanent]
            may_retry = failure is None or is_retriable_error(failure)
            if rest and not (may_retry and await self._sender.pause(retry)):
                if failure is not None:
                    raise failure
                return

    async def _ask_coordinator(self, partitions: Collection[TopicPartition]) -> KafkaError | None:
        group_id = self._settings.group_id
        try:
            node = await self._find_coordinator()
            version = self._sender.version(OffsetFetchRequest)
            response = await self._sender.send(
                requests.offset_fetch_request([group_id], partitions, version), node
            )
            group = response.groups[0] if version >= requests.GROUPS_VERSION else response
            rows = list(requests.read_commits(group, group_id))
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
        response = await self._sender.send(
            requests.coordinators_request([group_id], self._sender.version(FindCoordinatorRequest))
        )
        return requests.add_coordinator(self._manager.cluster, response, group_id)

    async def _locate(self, partitions: Collection[TopicPartition]) -> None:
        """Look up missing leaders; note the errors of partitions without one."""
        leaders = self._link.leaders
        unlocated = [tp for tp in partitions if tp not in leaders and not self._is_done(tp)]
        if not unlocated:
            return
        try:
            codes = await self._sender.find_leaders(unlocated)
        except KafkaError as error:
            self._did_not_answer(unlocated, error)
            return
        for tp, code in codes.items():
            if code == UnknownTopicOrPartitionError.errno:  # a retry helps only if the topic is created
                self._permanent[tp] = reason(code)
            else:
                self._note(tp, code)

    async def _list_offsets(self, partitions: Sequence[TopicPartition], retry: int = 0) -> None:
        """Fetch ends and begins, from each leader separately."""
        rest = [tp for tp in partitions if not self._is_done(tp)]
        while rest:
            await self._locate(rest)
            by_leader: dict[int | None, list[TopicPartition]] = {}
            for tp in rest:
                if not self._is_done(tp):
                    by_leader.setdefault(self._link.leaders.get(tp), []).append(tp)
            if len(by_leader) > 1:
                fetches = [
                    self._manager.call_soon(self._list_offsets, tps, retry) for tps in by_leader.values()
                ]
                for fetch in fetches:
                    await fetch
                return
            for leader, tps in by_leader.items():
                if leader is not None:
                    await self._ask_leader(leader, tps, requests.END, self._ends)
                    needed = [tp for tp in tps if tp in self._ends and self._needs_begin(tp, self._ends[tp])]
                    await self._ask_leader(leader, needed, requests.BEGIN, self._begins)
            rest = [tp for tp in rest if not self._is_done(tp)]
            if rest and not await self._sender.pause(retry):
                return
            retry += 1

    async def _ask_leader(
        self,
        leader: int,
        partitions: Collection[TopicPartition],
        which: int,
        known: dict[TopicPartition, int],
    ) -> None:
        """Fetch the begins or ends that are missing in ``known``, and add them to it."""
        missing = [tp for tp in partitions if tp not in known]
        if not missing:
            return
        try:
            response = await self._sender.send(
                requests.offset_list_request(missing, which, self._settings.isolation), leader
            )
        except KafkaError as error:
            self._did_not_answer(missing, error)
            return
        now = self._clock()
        if which == requests.END:
            self.end_read_at |= dict.fromkeys(missing, now)
        for tp, code, offset in requests.read_offset_list(response):
            if code:
                self._note(tp, code)
                self._link.leaders.pop(tp, None)
            else:
                known[tp] = offset

    def _is_done(self, tp: TopicPartition) -> bool:
        """Whether the offsets of a partition are known, or a retry cannot help."""
        end = self._ends.get(tp)
        if end is not None and (tp in self._begins or not self._needs_begin(tp, end)):
            return True
        return tp in self._permanent or (
            tp in self._unanswered and not is_retriable_error(self._unanswered[tp])
        )

    def _needs_begin(self, tp: TopicPartition, end: int) -> bool:
        return self._all_begins or begin_matters(end, self._committed[tp], self._settings.reset)

    def _note(self, tp: TopicPartition, code: int) -> None:
        """Note a partition's error as one that may pass, or as a permanent one."""
        self._unanswered.pop(tp, None)
        (self._passing if is_retriable(code) else self._permanent)[tp] = reason(code)

    def _did_not_answer(self, partitions: Iterable[TopicPartition], error: KafkaError) -> None:
        """Note that a broker did not answer, and forget the leaders, so that they are looked up again."""
        for tp in partitions:
            self._passing.pop(tp, None)
            self._unanswered[tp] = error
            self._link.leaders.pop(tp, None)
