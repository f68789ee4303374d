"""A cluster of dicts, behind the calls that a gathering makes; its clock advances when it waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from kafka.errors import KafkaTimeoutError, for_code
from kafka.future import Future
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kafka_assignors.lag.fetch.gathering import Gathering
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.oldest_unread import OldestUnreadFetch
from kafka_assignors.lag.fetch.requests import BEGIN
from kafka_assignors.lag.reading import OldestUnread, Reading, ReadPosition
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

COORDINATOR = 9
Faults = Callable[[str, "int | None", int], "dict[TopicPartition, int] | None"]


class Cluster:
    """Brokers 1, 2, ... lead partitions in turn; broker 9 keeps the commits.

    Attributes:
        logs: partition -> begin and end.
        commits: partition -> offset.
        batches: partition -> last offset and bytes of its record batches.
        aborted: partition -> its aborted transactions.
        faults: called before each answer with the kind of request, the broker, and how many there were of the
            kind; may change this cluster, raise what kafka-python would, or return error codes of partitions.
        sent: kind and broker of each request, in order.
        version: the highest version of OffsetFetch and FindCoordinator the broker knows.
    """

    def __init__(self, logs: dict[TopicPartition, tuple[int, int]], brokers: int = 1) -> None:
        self.logs = logs
        self.commits: dict[TopicPartition, int] = {}
        self.batches: dict[TopicPartition, list[tuple[int, bytes]]] = {}
        self.aborted: dict[TopicPartition, list[Any]] = {}
        self.leaders = {tp: 1 + i % brokers for i, tp in enumerate(sorted(logs))}
        self.topic_errors: dict[str, int] = {}
        self.faults: Faults = lambda *_: None
        self.sent: list[tuple[str, int | None]] = []
        self.asked: Counter[str] = Counter()  # partitions, by kind of request
        self.version = 99
        self.now = 0.0
        self.link = cast(Link, FakeLink(self))

    def node_ids(self) -> set[int]:
        """The brokers that lead a partition."""
        return {leader for leader in self.leaders.values() if leader >= 0}

    def fetch(
        self, *wanted: TopicPartition, timeout_ms: float = 2000, all_begins: bool = False, **config: Any
    ) -> Reading:
        """One fetch, to its end."""
        gathering = Gathering(
            self.link,
            fetch_settings({"group_id": "g", "auto_offset_reset": "earliest", **config}, None, None),
            wanted or tuple(self.logs),
            self.now + timeout_ms / 1000,
            all_begins=all_begins,
            clock=lambda: self.now,
        )
        run_now(gathering.run())
        self.gathering = gathering
        return gathering.reading()

    def oldest_unread(
        self, *positions: ReadPosition, timeout_ms: float = 2000, **config: Any
    ) -> OldestUnread:
        """One fetch of timestamps, to its end."""
        fetch = OldestUnreadFetch(
            self.link,
            fetch_settings({"group_id": "g", **config}, None, "earliest"),
            positions,
            self.now + timeout_ms / 1000,
            clock=lambda: self.now,
        )
        run_now(fetch.run())
        self.oldest = fetch
        return fetch.result()

    # --- the requests ---

    def answer(self, request: Any, node: int | None, timeout_ms: float) -> Any:
        kind = type(request).__name__.removesuffix("Request")
        self.sent.append((kind, node))
        number = sum(1 for k, _ in self.sent if k == kind)
        self.allowed_ms = timeout_ms
        try:
            wrong = self.faults(kind, node, number) or {}
        except KafkaTimeoutError:  # it took all the time it was given
            self.now += timeout_ms / 1000
            raise
        if isinstance(request, MetadataRequest):
            return self._metadata([t.name for t in request.topics])
        if isinstance(request, FindCoordinatorRequest):
            row = SimpleNamespace(error_code=0, node_id=COORDINATOR)
            return SimpleNamespace(API_VERSION=min(self.version, 6), coordinators=[row], **vars(row))
        if isinstance(request, OffsetFetchRequest):
            assert node == COORDINATOR
            topics = request.groups[0].topics if self.version >= 8 else request.topics
            requested = [TopicPartition(t.name, p) for t in topics for p in t.partition_indexes]
            self.asked[kind] += len(requested)
            rows = [
                (tp, wrong.get(tp, 0), {"committed_offset": self.commits.get(tp, -1)}) for tp in requested
            ]
            about = SimpleNamespace(error_code=0, topics=_topics(rows))
            return SimpleNamespace(API_VERSION=min(self.version, 8), groups=[about], **vars(about))
        if isinstance(request, FetchRequest):
            return self._fetch(request, node, wrong)
        assert isinstance(request, ListOffsetsRequest)
        rows = []
        for topic in request.topics:
            for p in topic.partitions:
                tp = TopicPartition(topic.name, p.partition_index)
                which = "begin" if p.timestamp == BEGIN else "end"
                self.asked[which] += 1
                code = wrong.get(tp, 3 if tp not in self.logs else 0 if self.leaders[tp] == node else 6)
                log = self.logs.get(tp, (-1, -1))
                rows.append((tp, code, {"offset": -1 if code else log[which == "end"]}))
        return SimpleNamespace(topics=_topics(rows))

    def _fetch(self, request: Any, node: int | None, wrong: dict[TopicPartition, int]) -> Any:
        """Return a whole batch of the first partition that has one, then what the limits let (KIP-74)."""
        left, is_first = request.max_bytes, True
        topics = []
        for topic in request.topics:
            rows = []
            for p in topic.partitions:
                tp = TopicPartition(topic.topic, p.partition)
                self.asked["Fetch"] += 1
                begin, end = self.logs.get(tp, (-1, -1))
                code = wrong.get(tp, 3 if tp not in self.logs else 0 if self.leaders[tp] == node else 6)
                code = code or (0 if begin <= p.fetch_offset <= end else 1)
                data = b"" if code else b"".join(b for last, b in self.batches[tp] if last >= p.fetch_offset)
                whole = 12 + int.from_bytes(data[8:12], "big") if data else 0
                room = min(p.partition_max_bytes, left)
                data = data[: max(room, whole)] if is_first else data[:room] if whole <= room else b""
                is_first &= not data
                left = max(left - len(data), 0)
                aborted = self.aborted.get(tp, []) if request.isolation_level else None
                rows.append(
                    SimpleNamespace(
                        partition_index=tp.partition,
                        error_code=code,
                        high_watermark=end,
                        last_stable_offset=end,
                        aborted_transactions=aborted,
                        records=data,
                    )
                )
            topics.append(SimpleNamespace(topic=topic.topic, partitions=rows))
        return SimpleNamespace(API_VERSION=12, error_code=0, responses=topics)

    def _metadata(self, names: list[str]) -> Any:
        topics = []
        for name in names:
            partitions = [tp for tp in self.logs if tp.topic == name]
            code = self.topic_errors.get(name, 0 if partitions else 3)
            topics.append(
                SimpleNamespace(
                    name=name,
                    error_code=code,
                    partitions=[
                        SimpleNamespace(
                            partition_index=tp.partition,
                            leader_id=self.leaders[tp],
                            error_code=0 if self.leaders[tp] >= 0 else 5,
                        )
                        for tp in partitions
                        if not code
                    ],
                )
            )
        return SimpleNamespace(topics=topics)


def errors(kind: str, codes: dict[TopicPartition, int], times: int = 10**9) -> Faults:
    """Faults: the first answers of a kind have these errors."""
    return lambda what, _, number: codes if what == kind and number <= times else None


def raises(error: Exception, kind: str | None = None, node: int | None = None, times: int = 10**9) -> Faults:
    """Faults: the first requests, of a kind or to a broker if given, fail."""

    def fail(what: str, broker: int | None, number: int) -> None:
        if kind in (None, what) and node in (None, broker) and number <= times:
            raise error

    return fail


class FakeLink:
    """A fake ``Link``, and its manager, to a `Cluster` or `Brokers`; completes at once.

    Attributes:
        kept: keys of coordinators, which kafka-python keeps for ever.
    """

    connection_failure: Exception | None = None

    def __init__(self, servers: Any) -> None:
        self.manager = self
        self.cluster = self
        self.broker_version_data = SimpleNamespace(api_version=lambda _: servers.version)
        self.leaders: dict[TopicPartition, int] = {}
        self.kept: set[str] = set()
        self._servers = servers

    async def ready(self, timeout_ms: float) -> None:
        """All brokers answer."""

    def brokers(self) -> list[Any]:
        return [SimpleNamespace(node_id=node) for node in sorted({1, *self._servers.node_ids()})]

    def add_coordinator(self, row: Any, _kind: object, key: str, **_: object) -> Any:
        self.kept.add(key)
        if row.error_code:
            raise for_code(row.error_code)()
        return row.node_id

    async def send(self, request: Any, node: int | None = None, *, request_timeout_ms: float) -> Any:
        return self._servers.answer(request, node, request_timeout_ms)

    async def sleep(self, seconds: float) -> None:
        self._servers.now += seconds

    def call_soon(self, call: Callable[..., Any], *args: Any) -> Any:
        run_now(call(*args))
        return Future().success(None)


def _topics(rows: list[tuple[TopicPartition, int, dict[str, int]]]) -> list[Any]:
    return [
        SimpleNamespace(
            name=tp.topic,
            partitions=[SimpleNamespace(partition_index=tp.partition, error_code=code, **values)],
        )
        for tp, code, values in rows
    ]


def run_now(work: Awaitable[None]) -> None:
    """Run a coroutine whose awaitables are all done."""
    for _ in work.__await__():
        raise AssertionError("it waits")
