"""Finds the first record at or after an offset in the bytes of a fetch.

A broker returns batches, not single records.  The first batch may begin before the offset, compaction leaves
gaps, and transaction markers are batches without records for the application.  kafka-python decodes the
batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kafka.errors import UnsupportedCodecError
from kafka.record import MemoryRecords

_MAGIC_2 = 2  # record batches with producer ids and transactions
_LOG_APPEND_TIME = 0x08  # bit of a batch's attributes: the broker set the timestamps
_HAS_DELETE_HORIZON = 0x40
"""Attribute: the batch's first timestamp is the time its tombstones are deleted, not a record's (KIP-534)."""


class FirstRecord(NamedTuple):
    """The result of ``first_record``."""

    timestamp_ms: int | None  # -1: the record has none; None: there is no such record in these bytes
    offset: int  # the record's offset; without a record, the offset to fetch from next


def first_record(data: bytes, offset: int, aborted: Iterable[tuple[int, int]] = ()) -> FirstRecord:
    """Return the first record at or after ``offset``.

    The timestamp is the producer's or the broker's, as the topic's ``message.timestamp.type`` says.  If the
    library to decompress a batch of magic 2 is not installed, the result is approximate.  It has the batch's
    last offset and first timestamp.  If the broker set the timestamps, or the batch has a delete horizon, the
    result has the largest timestamp instead.

    Args:
        data: record batches; the last may be cut off.
        offset: records before it are skipped.
        aborted: producer id and first offset of the aborted transactions, whose records are skipped.

    Raises:
        Exception: the bytes are no record batches, or a batch of an older magic cannot be decompressed.
    """
    batches = MemoryRecords(data)
    aborts_ahead = sorted(aborted, key=lambda transaction: transaction[1], reverse=True)
    aborted_producers: set[int] = set()
    while (batch := batches.next_batch()) is not None:
        if batch.magic < _MAGIC_2:
            for record in batch:
                if record.offset >= offset:
                    return FirstRecord(_timestamp(record.timestamp), record.offset)
            continue
        while aborts_ahead and aborts_ahead[-1][1] <= batch.last_offset:
            aborted_producers.add(aborts_ahead.pop()[0])
        if batch.is_control_batch:
            if any(marker.abort for marker in batch):
                aborted_producers.discard(batch.producer_id)
        elif batch.last_offset >= offset and not (
            batch.is_transactional and batch.producer_id in aborted_producers
        ):
            for record_offset, timestamp in _records(batch):
                if record_offset >= offset:
                    return FirstRecord(_timestamp(timestamp), record_offset)
        offset = max(offset, batch.next_offset)
    return FirstRecord(None, offset)


def _records(batch: Any) -> Iterator[tuple[int, int]]:
    """Yield offset and timestamp of each record; one pair for the batch if it cannot be decompressed."""
    try:
        records = iter(batch)
    except UnsupportedCodecError:
        # With LogAppendTime, or a delete horizon, the first timestamp is not a record's.
        uses_max_timestamp = bool(batch.attributes & (_HAS_DELETE_HORIZON | _LOG_APPEND_TIME))
        yield batch.last_offset, batch.max_timestamp if uses_max_timestamp else batch.first_timestamp
        return
    for record in records:
        yield record.offset, record.timestamp


def _timestamp(timestamp_ms: int | None) -> int:
    """Return the timestamp; -1 for None, which kafka-python returns for the oldest format (magic 0)."""
    return -1 if timestamp_ms is None else timestamp_ms
