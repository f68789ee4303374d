"""The timestamp of the oldest unread record: which bytes are requested, and which record counts."""

from __future__ import annotations

import asyncio
import struct
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.errors import KafkaStorageError, KafkaTimeoutError
from kafka.protocol.consumer import FetchRequest

from kafka_assignors.lag.fetch import oldest_unread, requests
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.oldest_unread import OldestUnreadFetch
from kafka_assignors.lag.fetch.records import FirstRecord, first_record
from kafka_assignors.lag.reading import ReadPosition
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition
from tests.unit.lag.cluster import Cluster, FakeLink, Faults, errors, raises
from tests.unit.lag.fetch.record_batches import ATTRIBUTES, batch, marker

A0, A1, B0 = (TopicPartition(*tp) for tp in [("a", 0), ("a", 1), ("b", 0)])
NOT_LEADER, DENIED = 6, 29
GZIP, LZ4, ZSTD = 1, 3, 4


def with_attribute(data: bytes, bits: int) -> bytes:
    changed = bytearray(data)
    changed[ATTRIBUTES + 1] |= bits
    return bytes(changed)


# --- decoding ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [0, GZIP])
@pytest.mark.parametrize("magic", [1, 2])
def test_first_record_at_or_after_an_offset(codec: int, magic: int) -> None:
    if (codec, magic) == (GZIP, 1):
        data = batch(100, 101, 102, codec=codec, magic=magic)  # relative offsets, the last outside
        data = struct.pack(">q", 2) + data[8:]
    else:
        data = batch(100, 101, 102, codec=codec, magic=magic)
    assert [first_record(data, offset).timestamp_ms for offset in (0, 1, 2)] == [100, 101, 102]


def test_offset_after_the_batches_is_fetched_next() -> None:
    data = batch(100, 101) + batch(102, at=2)
    assert first_record(data, 2) == FirstRecord(102, 2)
    assert first_record(data, 3) == FirstRecord(None, 3)
    assert first_record(b"", 7) == FirstRecord(None, 7)


def test_cut_off_batch_is_not_read() -> None:
    data = batch(100, 101) + batch(102, at=2)[:-1]
    assert first_record(data, 1) == FirstRecord(101, 1)
    assert first_record(data, 2) == FirstRecord(None, 2)


def test_gaps_of_compaction_are_skipped() -> None:
    """The header keeps the last offset of a batch whose last records are gone."""
    data = bytearray(batch(100, 101))
    struct.pack_into(">i", data, 23, 9)  # the last offset's delta
    assert first_record(bytes(data) + batch(102, at=10), 5) == FirstRecord(102, 10)
    assert first_record(bytes(data), 5) == FirstRecord(None, 10)


def test_log_append_time_is_the_brokers() -> None:
    data = bytearray(with_attribute(batch(100, 101, 250), 0x08))
    assert first_record(bytes(data), 0) == FirstRecord(250, 0)


def test_marker_of_a_transaction_is_no_record() -> None:
    data = batch(100, producer=7) + marker(1, 7, commit=True)
    assert first_record(data, 1) == FirstRecord(None, 2)
    assert first_record(data + batch(103, at=2), 1) == FirstRecord(103, 2)


def test_aborted_records_are_skipped_until_the_marker() -> None:
    data = (
        batch(100, 101, producer=7)
        + batch(102, at=2, producer=8)
        + marker(3, 7, commit=False)
        + batch(104, at=4, producer=7)
    )
    assert first_record(data, 0) == FirstRecord(100, 0)
    assert first_record(data, 0, [(7, 0)]) == FirstRecord(102, 2)
    assert first_record(data, 3, [(7, 0)]) == FirstRecord(104, 4)
    assert first_record(data, 0, [(8, 2), (7, 0)]) == FirstRecord(104, 4)


def test_producer_with_two_aborted_transactions() -> None:
    data = b"".join(
        [
            batch(100, producer=7),
            marker(1, 7, commit=False),
            batch(102, at=2, producer=7),
            marker(3, 7, commit=False),
            batch(104, at=4),
        ]
    )
    assert first_record(data, 0, [(7, 0), (7, 2)]) == FirstRecord(104, 4)


@pytest.mark.parametrize("codec", [LZ4, ZSTD])
def test_batch_of_a_missing_codec_has_the_time_of_its_first_record(
    codec: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka.codec.has_lz4", lambda: False)
    monkeypatch.setattr("kafka.codec.has_zstd", lambda: False)
    data = with_attribute(batch(100, 101, 102), codec)
    assert first_record(data, 1).timestamp_ms == 100
    assert first_record(with_attribute(data, 0x40), 1).timestamp_ms == 102, "the first is a tombstone's end"


# --- requests ----------------------------------------------------------------------------------------------


def test_fetch_request_bytes() -> None:
    """Version 4, field by field."""
    request = requests.fetch_request({A1: 5, B0: 7}, 100, 1_000, 1)
    each = struct.Struct(">iqi")
    expected = (
        struct.pack(">iiiibi", -1, 0, 0, 1_000, 1, 2)
        + struct.pack(">h1si", 1, b"a", 1) + each.pack(1, 5, 100)
        + struct.pack(">h1si", 1, b"b", 1) + each.pack(0, 7, 100)
    )  # fmt: skip
    assert isinstance(request, FetchRequest)
    assert bytes(request.encode(version=4)) == expected


# --- a fetch -----------------------------------------------------------------------------------------------


def cluster(**batches: list[bytes]) -> Cluster:
    """One partition for each argument, such as ``a0``."""
    logs, kept = {}, {}
    for name, stored in batches.items():
        tp = TopicPartition(name[0], int(name[1:]))
        ends = []
        for data in stored:
            base, delta = struct.unpack_from(">q", data)[0], struct.unpack_from(">i", data, 23)[0]
            ends.append((base + delta, data))
        kept[tp] = ends
        logs[tp] = (struct.unpack_from(">q", stored[0])[0], ends[-1][0] + 1)
    known = Cluster(logs)
    known.batches = kept
    return known


def test_one_request_has_all_partitions_of_a_leader() -> None:
    known = cluster(**{f"a{p}": [batch(p, p + 1)] for p in range(300)})
    positions = [ReadPosition(TopicPartition("a", p), 1) for p in range(300)]
    oldest = known.oldest_unread(*positions)
    assert oldest.timestamps == {position: position.tp.partition + 1 for position in positions}
    assert oldest.missing == {}
    assert [kind for kind, _ in known.sent] == ["Metadata", "Fetch"]


def test_batch_that_exceeds_its_share_is_requested_with_more_bytes() -> None:
    small, full, huge = batch(1), batch(2, size=10_000), batch(3, size=500_000)
    known = cluster(a0=[small], a1=[full], a2=[huge], a3=[full], a4=[huge], a5=[small])
    positions = [ReadPosition(TopicPartition("a", p), 0) for p in range(6)]
    oldest = known.oldest_unread(*positions)
    assert [oldest.timestamps[position] for position in positions] == [1, 2, 3, 2, 3, 1]
    assert [kind for kind, _ in known.sent].count("Fetch") == 1 + 1 + 2, "all, four, and each of the huge"


def test_positions_of_several_groups_share_a_partition() -> None:
    known = cluster(a0=[batch(100, 101, 102)])
    oldest = known.oldest_unread(ReadPosition(A0, 0), ReadPosition(A0, 2), ReadPosition(A0, 1))
    assert oldest.timestamps == {ReadPosition(A0, 0): 100, ReadPosition(A0, 2): 102, ReadPosition(A0, 1): 101}


def test_requests_are_split_in_linear_time() -> None:
    """A thousand groups may share each partition, and the link has only one thread."""

    class Counted(TopicPartition):
        def __hash__(self) -> int:
            hashed.append(1)
            return super().__hash__()

    hashed: list[int] = []
    positions = [ReadPosition(Counted("a", p), offset) for offset in range(1_000) for p in range(3)]
    chunks = oldest_unread._chunks(positions, 2)
    assert [position for chunk in chunks for position in chunk] == positions
    assert [len(chunk) for chunk in chunks] == [2, 1] * 1_000
    assert len(hashed) <= 3 * len(positions)


def test_only_markers_left_is_no_unread_record() -> None:
    known = cluster(a0=[batch(100, producer=7), marker(1, 7, commit=True)])
    assert known.oldest_unread(ReadPosition(A0, 1)).timestamps == {ReadPosition(A0, 1): None}


def test_markers_are_skipped_by_the_next_request() -> None:
    """The share of a partition may hold only the marker."""
    known = cluster(a0=[marker(0, 7, commit=True), batch(9, at=1, size=10_000)], a1=[batch(5)])
    oldest = known.oldest_unread(ReadPosition(A1, 0), ReadPosition(A0, 0))
    assert oldest.timestamps == {ReadPosition(A0, 0): 9, ReadPosition(A1, 0): 5}


def test_aborted_records_count_unless_read_committed() -> None:
    known = cluster(a0=[batch(100, producer=7), marker(1, 7, commit=False), batch(102, at=2)])
    known.aborted[A0] = [SimpleNamespace(producer_id=7, first_offset=0)]
    position = ReadPosition(A0, 0)
    assert known.oldest_unread(position).timestamps == {position: 100}
    assert known.oldest_unread(position, isolation_level="read_committed").timestamps == {position: 102}


def test_records_deleted_meanwhile_are_skipped() -> None:
    known = cluster(a0=[batch(105, 106, at=5)])
    assert known.oldest_unread(ReadPosition(A0, 2)).timestamps == {ReadPosition(A0, 2): 105}
    assert known.oldest_unread(ReadPosition(A0, 9)).missing == {
        ReadPosition(A0, 9): "the offset is beyond the end of the log"
    }


def test_moved_leader_is_looked_up_again() -> None:
    known = cluster(a0=[batch(100)], a1=[batch(200)])
    known.faults = errors("Fetch", {A0: NOT_LEADER}, times=1)
    oldest = known.oldest_unread(ReadPosition(A0, 0), ReadPosition(A1, 0))
    assert oldest.timestamps == {ReadPosition(A0, 0): 100, ReadPosition(A1, 0): 200}
    assert [kind for kind, _ in known.sent].count("Metadata") == 2


def test_denied_and_unknown_partitions_cost_only_themselves() -> None:
    known = cluster(a0=[batch(100)], b0=[batch(200)])
    known.faults = errors("Fetch", {B0: DENIED})
    nowhere = ReadPosition(TopicPartition("c", 0), 0)
    oldest = known.oldest_unread(ReadPosition(A0, 0), ReadPosition(B0, 0), nowhere)
    assert oldest.timestamps == {ReadPosition(A0, 0): 100}
    denied = "not authorised to read the topic"
    assert oldest.missing == {ReadPosition(B0, 0): denied, nowhere: "no such partition"}
    assert known.now == 0


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (batch(100)[:-1] + b"\xff", "the record cannot be decoded"),
        (batch(-1), "the record has no timestamp"),
    ],
)
def test_unreadable_record_costs_only_its_partition(data: bytes, why: str) -> None:
    known = cluster(a0=[batch(100)], a1=[data])
    oldest = known.oldest_unread(ReadPosition(A0, 0), ReadPosition(A1, 0))
    assert oldest.timestamps == {ReadPosition(A0, 0): 100}
    assert oldest.missing == {ReadPosition(A1, 0): why}


def test_long_trouble_ends_with_the_deadline() -> None:
    known = cluster(a0=[batch(100)], a1=[batch(200)])
    known.faults = errors("Fetch", {A0: NOT_LEADER})
    oldest = known.oldest_unread(ReadPosition(A0, 0), ReadPosition(A1, 0), timeout_ms=1000)
    assert oldest.timestamps == {ReadPosition(A1, 0): 200}
    assert oldest.missing == {ReadPosition(A0, 0): "NotLeaderForPartition"}
    assert known.now <= 1.0


@pytest.mark.parametrize(
    ("faults", "failed"),
    [
        (raises(KafkaTimeoutError("no response"), "Fetch"), True),
        (raises(KafkaStorageError(), "Fetch"), False),  # an error code is a response
        (
            raises(KafkaTimeoutError("no response"), "Fetch", times=1),
            False,
        ),  # answered later, without a record
    ],
)
def test_connection_has_failed_only_if_the_last_request_had_no_response(faults: Faults, failed: bool) -> None:
    known = Cluster({A0: (0, 5)})
    known.batches[A0] = []
    known.faults = faults
    assert known.oldest_unread(ReadPosition(A0, 0), request_timeout_ms=300).timestamps == {}
    assert known.oldest.connection_failed is failed


def test_answer_without_the_partition_is_retried() -> None:
    """A broker that throttles a client returns an empty answer."""
    known = cluster(a0=[batch(100)])
    answer, throttled = known.answer, [True]

    def throttling(request: Any, node: int | None, timeout_ms: float) -> Any:
        response = answer(request, node, timeout_ms)
        if isinstance(request, FetchRequest) and throttled:
            throttled.pop()
            response.responses = []
        return response

    known.answer = throttling  # type: ignore[method-assign]
    assert known.oldest_unread(ReadPosition(A0, 0)).timestamps == {ReadPosition(A0, 0): 100}


# --- the budget --------------------------------------------------------------------------------------------


class Network(FakeLink):
    """A link whose responses are on their way until every request that can be sent was sent.

    Attributes:
        most: highest number of bytes on their way at the same time.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.most = self._now = 0

    def call_soon(self, call: Any, *args: Any) -> asyncio.Task[None]:
        return asyncio.ensure_future(call(*args))

    async def send(self, request: Any, node: int | None = None, *, request_timeout_ms: float) -> Any:
        response = await super().send(request, node, request_timeout_ms=request_timeout_ms)
        if not isinstance(request, FetchRequest):
            return response
        size = sum(len(row.records) for topic in response.responses for row in topic.partitions)
        self._now += size
        self.most = max(self.most, self._now)
        for _ in range(10):
            await asyncio.sleep(0)
        self._now -= size
        return response


def most_bytes(known: Cluster) -> int:
    """Read the first record of each partition; return the highest number of bytes on their way."""
    link = Network(known)
    positions = [ReadPosition(tp, 0) for tp in known.logs]
    chosen = fetch_settings({"group_id": "g"}, None, "earliest")
    fetch = OldestUnreadFetch(cast(Link, link), chosen, positions, time.monotonic() + 60)
    asyncio.run(fetch.run())
    assert fetch.result().timestamps == dict.fromkeys(positions, 1)
    return link.most


@pytest.mark.parametrize(
    ("brokers", "budget", "most"),
    [
        (1, 1_000_000, 8),  # as many as a leader gets
        (1, 100_000, 3),
        (1, 10_000, 1),  # a batch that exceeds the budget is requested alone
        (3, 100_000, 3),  # each leader has a third of it
        (3, 200_000, 6),
    ],
)
def test_large_batches_on_their_way_have_a_budget(
    monkeypatch: pytest.MonkeyPatch, brokers: int, budget: int, most: int
) -> None:
    monkeypatch.setattr(oldest_unread, "_IN_FLIGHT", budget)
    large = batch(1, size=30_000)
    known = Cluster({TopicPartition("a", p): (0, 1) for p in range(60)}, brokers=brokers)
    known.batches = {tp: [(0, large)] for tp in known.logs}
    assert most_bytes(known) == most * len(large)


def test_small_batches_on_their_way_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oldest_unread, "_IN_FLIGHT", 100_000)
    small = batch(1, size=1_000)
    known = Cluster({TopicPartition("a", p): (0, 1) for p in range(500)}, brokers=2)
    known.batches = {tp: [(0, small)] for tp in known.logs}
    assert 40_000 < most_bytes(known) <= 100_000
