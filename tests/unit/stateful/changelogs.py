"""Changelogs as a consumer sees them, without a cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka.errors import KafkaTimeoutError
from kafka.structs import TopicPartition

__all__ = ["Consumer"]


class Consumer:
    """Reads logs that are lists of (offset, key, value): compaction leaves gaps."""

    def __init__(self) -> None:
        self.raised: list[Exception] = []  # by the next polls
        self.log: dict[TopicPartition, list[tuple[int, bytes, bytes | None]]] = {}
        self.begins: dict[TopicPartition, int] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.at: dict[TopicPartition, int] = {}
        self.held: set[TopicPartition] = set()
        self.leaderless: set[TopicPartition] = set()
        self.gone: set[str] = set()
        self.closed = False
        self.asked = 0
        self.positions_asked = 0

    def write(self, partition: int, *keys: bytes, skip: int = 0) -> None:
        at = TopicPartition("log", partition)
        for key in keys:
            end = self.ends.get(at, 0)
            self.log.setdefault(at, []).append((end, key, b"%d" % end))
            self.ends[at] = end + 1
        self.ends[at] = self.ends.get(at, 0) + skip

    def assign(self, some: list[TopicPartition]) -> None:
        self.at = {at: self.at.get(at, -1) for at in some}
        self.held &= set(some)

    def seek(self, at: TopicPartition, offset: int) -> None:
        self.at[at] = offset

    def position(self, at: TopicPartition, timeout_ms: int) -> int:
        assert timeout_ms == 0, "it would wait for partitions without a leader"
        self.positions_asked += 1
        return self.at[at]

    def pause(self, *some: TopicPartition) -> None:
        self.held |= set(some)

    def resume(self, *some: TopicPartition) -> None:
        self.held -= set(some)

    def paused(self) -> set[TopicPartition]:
        return set(self.held)

    def end_offsets(self, some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        self.asked += 1
        return self._answer(some, self.ends)

    def beginning_offsets(self, some: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        return self._answer(some, self.begins)

    def _answer(
        self, some: list[TopicPartition], offsets: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """As kafka-python does: all, or an error."""
        if any(at.topic in self.gone for at in some):
            raise KafkaTimeoutError("no answer")
        if missing := [at for at in some if at in self.leaderless]:
            if len(missing) == len(some):
                raise KafkaTimeoutError("no leader")
            raise KeyError(missing[0])
        return {at: offsets.get(at, 0) for at in some}

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        found = {}
        if self.raised:
            raise self.raised.pop(0)
        for at in sorted(self.at.keys() - self.held - self.leaderless):
            records = [
                SimpleNamespace(
                    offset=o, key=k, value=v, serialized_key_size=len(k), serialized_value_size=len(v or b"")
                )
                for o, k, v in self.log.get(at, [])
                if o >= self.at[at]
            ]
            if records:
                found[at] = records
            self.at[at] = max(self.at[at], self.ends.get(at, 0))
        return found

    def close(self, autocommit: bool) -> None:
        self.closed = True
