"""A copy that is being brought up to date, and the portions in which that is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafka import TopicPartition as TheirPartition

from kafka_assignors.stateful.state.copy import Changelog, Copy

__all__ = ["Tailed", "portions"]

_AT_ONCE = 256 * 1024  # bytes applied to a store in one step, during which other threads stand still


class Tailed:
    """A copy in the hands of the changelog reader's thread.

    Attributes:
        copy: what is brought up to date.
        at: the partition of the changelog.
        began: offset at which the copy was when it came into these hands.
        goal: who waits for it; None: it stands by.
        end: of the changelog, when last looked at; None: not yet, or not since somebody waits for it.
        lag: records it lacks, as far as it is known; None: not known.
        heard: whether records came since that was last asked.
        passed: offset the consumer was at when last asked: past records that compaction took.
        asked_at: when that was, seconds.
        saved_at: when it was last brought to disk, seconds.
    """

    __slots__ = ("asked_at", "at", "began", "copy", "end", "goal", "heard", "lag", "passed", "saved_at")

    def __init__(self, copy: Copy, changelog: Changelog, goal: object, lag: int | None, now: float) -> None:
        self.copy = copy
        self.at = TheirPartition(*changelog.at)
        self.began = copy.position
        self.goal = goal
        self.end: int | None = None
        self.lag = lag
        self.heard = False
        self.passed = 0
        self.asked_at = now
        self.saved_at = now

    @property
    def position(self) -> int:
        """Offset of the next record that is there."""
        return max(self.copy.position, self.passed)


def portions(records: Iterable[Any]) -> Iterator[tuple[list[Any], int]]:
    """Records, some hundred kilobytes at a time, and how many bytes that is."""
    some: list[Any] = []
    size = 0
    for record in records:
        some.append(record)
        size += max(0, record.serialized_value_size) + max(0, record.serialized_key_size)
        if size >= _AT_ONCE:
            yield some, size
            some, size = [], 0
    if some:
        yield some, size
