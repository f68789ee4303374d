"""Fetches the timestamp of the oldest unread record of many partitions: the lag in time.

Each leader gets a few Fetch requests with many partitions and few bytes for each.  A broker returns a
whole first batch of any size only for the first partition that has one.  For any other it returns nothing if
the first batch is larger than the partition's bytes (KIP-74).  Such partitions are requested again with more
bytes, and at last each in a request of its own.

A batch may have any size, so the responses in flight have a budget of bytes, which the leaders share.  The
first single-partition request to a leader is sent alone.  The largest response so far decides how many
follow at once.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from kafka_assignors.lag.fetch import requests
from kafka_assignors.lag.fetch.errors import is_retriable, is_retriable_error, is_silence, lag_error, reason
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.records import first_record
from kafka_assignors.lag.fetch.sending import Sender
from kafka_assignors.lag.reading import OldestUnread, ReadPosition
from kafka_assignors.lag.settings import FetchSettings
from kafka_assignors.plan import TopicPartition

_SIZES = (2_048, 20_480)
"""Bytes to request of each partition: at first a small batch, then a full batch of the default size."""
_RESPONSE = 4_194_304
"""Maximum number of bytes that a request asks for, so it has at most ``_RESPONSE`` / size partitions."""
_IN_FLIGHT = 33_554_432
"""Maximum number of bytes of all responses in flight.

A response may be a batch larger than its request asked for.
"""
_REQUESTS_IN_FLIGHT = 8
"""Maximum number of requests in flight to a leader, if their responses fit."""


class OldestUnreadFetch:
    """Fetches timestamps, once.  ``run`` runs on the link's thread.

    Takes the arguments of a `Sender`, and ``positions``.

    Args:
        positions: where groups read next.

    Attributes:
        failure: the error that ended the fetch early, or a permanent error of a request; None: neither.
    """

    def __init__(
        self,
        link: Link,
        settings: FetchSettings,
        positions: Iterable[ReadPosition],
        deadline: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        retries: int | None = None,
    ) -> None:
        self._link = link
        self._manager = link.manager
        self._settings = settings
        self._sender = Sender(link, settings, deadline, clock, retries)
        self._next = {position: position.offset for position in positions}  # the offset to fetch from
        self._timestamps: dict[ReadPosition, int | None] = {}  # ms; None: there is no unread record
        self._permanent: dict[ReadPosition, str] = {}  # errors that a retry cannot help
        self._passing: dict[ReadPosition, str] = {}  # the last retriable error of a position
        self._unanswered: set[ReadPosition] = set()
        self.failure: Exception | None = None

    async def run(self) -> None:
        """Fetch all timestamps.  Never raises."""
        try:
            await self._link.ready(self._sender.left_ms())
            for retry in count():
                if not (rest := self._pending(self._next)):
                    return
                await self._locate(rest)
                by_leader: dict[int, list[ReadPosition]] = {}
                for position in self._pending(rest):
                    if (leader := self._link.leaders.get(position.tp)) is not None:
                        by_leader.setdefault(leader, []).append(position)
                share = _IN_FLIGHT // max(len(by_leader), 1)
                await self._all(self._read, ((leader, group, share) for leader, group in by_leader.items()))
                if self._pending(rest) and not await self._sender.pause(retry):
                    return
        except Exception as error:  # `result` reports it
            self.failure = error

    def result(self) -> OldestUnread:
        """Return the timestamps known so far, and reasons for the others.  From any thread."""
        timestamps, permanent = dict(self._timestamps), dict(self._permanent)
        no_response = str(
            lag_error(self.failure or self._link.connection_failure or KafkaTimeoutError("no response"))
        )
        return OldestUnread(
            timestamps,
            {
                position: permanent.get(position) or self._passing.get(position) or no_response
                for position in self._next
                if position not in timestamps
            },
        )

    @property
    def connection_failed(self) -> bool:
        """Whether a new link may help: a request failed on this one for good, or a broker did not answer."""
        return self.failure is not None or any(p in self._unanswered for p in self._pending(self._next))

    def _pending(self, positions: Iterable[ReadPosition]) -> list[ReadPosition]:
        """Return the positions that have neither a timestamp nor a permanent error yet."""
        return [p for p in positions if p not in self._timestamps and p not in self._permanent]

    async def _locate(self, positions: Collection[ReadPosition]) -> None:
        """Look up missing leaders."""
        unlocated = [p for p in positions if p.tp not in self._link.leaders]
        if not unlocated:
            return
        try:
            codes = await self._sender.find_leaders({position.tp for position in unlocated})
        except KafkaError as error:
            self._request_failed(unlocated, error)
            return
        for position in unlocated:
            if position.tp in codes:
                self._note(position, codes[position.tp])

    async def _read(self, leader: int, positions: list[ReadPosition], share: int) -> None:
        """Read positions of one leader, with more and more bytes for each."""
        too_small = positions
        for size in (*_SIZES, None):
            too_small = await self._read_with(leader, too_small, size, share)
        for position in too_small:
            self._passing[position] = "the broker returned no record"

    async def _read_with(
        self, leader: int, positions: list[ReadPosition], size: int | None, share: int
    ) -> list[ReadPosition]:
        """Read positions of one leader with ``size`` bytes for each; return those that need more.

        Without a size each position has a request of its own, which returns a whole batch.  ``share`` is the
        leader's part of ``_IN_FLIGHT``.
        """
        limit = min(_RESPONSE, share)
        responses = _Responses()
        todo = positions
        while todo:
            chunks = _chunks(todo, 1 if size is None else max(limit // size, 1))
            while chunks:
                # Before the first response to a request without a size, assume that it takes the whole share.
                largest = (responses.largest or share) if size is None else max(responses.largest, limit)
                at_once = min(_REQUESTS_IN_FLIGHT, max(share // largest, 1))
                sent, chunks = chunks[:at_once], chunks[at_once:]
                await self._all(self._ask, ((leader, size or 1, limit, chunk, responses) for chunk in sent))
            todo, responses.unfinished = responses.unfinished, []
        return responses.too_small

    async def _ask(
        self, leader: int, size: int, limit: int, positions: list[ReadPosition], responses: _Responses
    ) -> None:
        """Read positions with one request: of ``size`` bytes for each, and ``limit`` in total."""
        isolation = self._settings.isolation
        by_tp = {position.tp: position for position in positions}
        offsets = {tp: self._next[position] for tp, position in by_tp.items()}
        try:
            request = requests.fetch_request(offsets, size, limit, isolation)
            rows = list(requests.read_fetch(await self._sender.send(request, leader)))
        except KafkaError as error:
            self._request_failed(positions, error)
            return
        self._unanswered.difference_update(positions)
        out_of_range = []
        responses.largest = max(responses.largest, sum(len(row.records or b"") for _, row in rows))
        for tp, row in rows:
            position = by_tp.pop(tp)
            if row.error_code == OffsetOutOfRangeError.errno:
                out_of_range.append(position)
            elif row.error_code:
                self._note(position, row.error_code)
            elif not self._take(position, row):
                is_further = self._next[position] > offsets[tp]
                (responses.unfinished if is_further else responses.too_small).append(position)
        for position in by_tp.values():  # a broker that throttles leaves partitions out
            self._passing[position] = "the broker returned no record"
        if out_of_range:
            responses.unfinished += await self._skip_deleted(leader, out_of_range)

    def _take(self, position: ReadPosition, row: Any) -> bool:
        """Take a partition's records; return whether its position is done."""
        transactions = row.aborted_transactions or ()
        aborted = [(transaction.producer_id, transaction.first_offset) for transaction in transactions]
        try:
            timestamp, offset = first_record(row.records or b"", self._next[position], aborted)
        except Exception:  # on bad bytes kafka-python's decoder may raise any exception
            self._permanent[position] = "the record cannot be decoded"
            return True
        self._next[position] = offset
        if timestamp is not None and timestamp < 0:
            self._permanent[position] = "the record has no timestamp"
        elif timestamp is not None:
            self._timestamps[position] = timestamp
        elif offset >= (row.last_stable_offset if self._settings.isolation else row.high_watermark):
            self._timestamps[position] = None
        else:
            return False
        return True

    async def _skip_deleted(self, leader: int, positions: list[ReadPosition]) -> list[ReadPosition]:
        """Move positions of deleted records to the first offset of their log; return the moved positions.

        The positions are of different partitions.  The records were deleted after the caller chose the
        positions.
        """
        by_tp = {position.tp: position for position in positions}
        try:
            response = await self._sender.send(requests.offset_list_request(by_tp, requests.BEGIN, 0), leader)
        except KafkaError as error:
            self._request_failed(positions, error)
            return []
        moved = []
        for tp, code, begin in requests.read_offset_list(response):
            position = by_tp[tp]
            if code:
                self._note(position, code)
            elif begin > self._next[position]:
                self._next[position] = begin
                moved.append(position)
            else:
                self._permanent[position] = "the offset is beyond the end of the log"
        return moved

    def _note(self, position: ReadPosition, code: int) -> None:
        """Note a position's error as one that may pass, or as a permanent one."""
        self._unanswered.discard(position)
        if code == TopicAuthorizationFailedError.errno:
            self._permanent[position] = "not authorised to read the topic"
        elif code == UnknownTopicOrPartitionError.errno or not is_retriable(code):
            self._permanent[position] = reason(code)
        else:
            self._passing[position] = reason(code)
            self._link.leaders.pop(position.tp, None)

    def _request_failed(self, positions: Iterable[ReadPosition], error: KafkaError) -> None:
        passes = is_retriable_error(error)
        if not passes:
            self.failure = error
        if is_silence(error):
            self._unanswered.update(positions)
        for position in positions:
            (self._passing if passes else self._permanent)[position] = str(lag_error(error))
            self._link.leaders.pop(position.tp, None)

    async def _all(self, call: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        """Run a coroutine once for each tuple of arguments, at the same time."""
        for fetch in [self._manager.call_soon(call, *each) for each in arguments]:
            await fetch


@dataclass
class _Responses:
    """One leader's responses to requests that ask for the same number of bytes of each partition.

    Attributes:
        too_small: the positions that need more bytes.
        unfinished: the positions that need another request, from a later offset.
        largest: bytes of the largest response.
    """

    too_small: list[ReadPosition] = field(default_factory=list)
    unfinished: list[ReadPosition] = field(default_factory=list)
    largest: int = 0


def _chunks(positions: Iterable[ReadPosition], size: int) -> list[list[ReadPosition]]:
    """Split positions into requests.  A request can have a partition only once."""
    layers: list[list[ReadPosition]] = []  # the first position of each partition, then the second, ...
    numbers: defaultdict[TopicPartition, Iterator[int]] = defaultdict(count)
    for position in positions:
        if (number := next(numbers[position.tp])) == len(layers):
            layers.append([])
        layers[number].append(position)
    return [layer[start : start + size] for layer in layers for start in range(0, len(layer), size)]
