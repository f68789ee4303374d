"""A copy that the changelog reader brings up to date, and the portions in which records are applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafka import TopicPartition as KafkaPartition

from kafka_assignors.stateful.state.copy import Changelog, Copy

_PORTION_BYTES = 256 * 1024  # applied to a store in one step, during which other threads stand still


class TailedCopy:
    """A copy owned by the changelog reader's thread.

    Attributes:
        copy: the copy.
        partition: its changelog partition.
        waiter: the active task that waits for it; None: a standby or warm-up.
        end: the end offset of the changelog that ``lag`` counts to; None: not fetched yet since the copy
            arrived, was wiped or changed its waiter.
        lag: records to apply; None: not known.
        heard: whether records came since the last reading of the consumer's positions.
        passed: the consumer's position when last read; compaction may put it beyond the copy's.
        asked_at: when ``passed`` was last read, or the reader got the copy; seconds by the reader's clock.
        flushed_at: when the reader last flushed the copy, or got it; seconds by the reader's clock.
    """

    def __init__(self, copy: Copy, changelog: Changelog, waiter: object, lag: int | None, now: float) -> None:
        self.copy = copy
        self.partition = KafkaPartition(*changelog.partition)
        self.waiter = waiter
        self.end: int | None = None
        self.lag = lag
        self.heard = False
        self.passed = 0
        self.asked_at = now
        self.flushed_at = now

    @property
    def position(self) -> int:
        """Offset of the next record to read."""
        return max(self.copy.position, self.passed)


def portions(records: Iterable[Any]) -> Iterator[tuple[list[Any], int]]:
    """Split records into portions of about 256 KiB; yield each with its size in bytes."""
    portion: list[Any] = []
    size = 0
    for record in records:
        portion.append(record)
        size += max(0, record.serialized_value_size) + max(0, record.serialized_key_size)
        if size >= _PORTION_BYTES:
            yield portion, size
            portion, size = [], 0
    if portion:
        yield portion, size
