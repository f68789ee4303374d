"""A double of the consumer that reads changelogs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka.errors import KafkaTimeoutError
from kafka.structs import TopicPartition


class Consumer:
    """Reads logs that are lists of (offset, key, value): compaction leaves gaps."""

    def __init__(self) -> None:
        self.raised: list[Exception] = []  # by the next polls
        self.log: dict[TopicPartition, list[tuple[int, bytes, bytes | None]]] = {}
        self.begins: dict[TopicPartition, int] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.held: set[TopicPartition] = set()
        self.leaderless: set[TopicPartition] = set()
        self.gone: set[str] = set()
        self.closed = False
        self.asked = 0
        self.positions_asked = 0
        self._fetcher = SimpleNamespace(_next_partition_records=None)
        self.topic_ids: dict[str, str] = {}
        self._cluster = SimpleNamespace(
            leader_for_partition=lambda partition: -1 if partition in self.leaderless else 1,
            _topic_ids=self.topic_ids,
        )

    def write(self, number: int, *keys: bytes, skip: int = 0) -> None:
        partition = TopicPartition("log", number)
        for key in keys:
            end = self.ends.get(partition, 0)
            self.log.setdefault(partition, []).append((end, key, b"%d" % end))
            self.ends[partition] = end + 1
        self.ends[partition] = self.ends.get(partition, 0) + skip

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.positions = {partition: self.positions.get(partition, -1) for partition in partitions}
        self.held &= set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    def position(self, partition: TopicPartition, timeout_ms: int) -> int:
        assert timeout_ms == 0, "a timeout would wait for partitions without a leader"
        self.positions_asked += 1
        return self.positions[partition]

    def pause(self, *partitions: TopicPartition) -> None:
        self.held |= set(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.held -= set(partitions)

    def paused(self) -> set[TopicPartition]:
        return set(self.held)

    def end_offsets(self, partitions: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        self.asked += 1
        return self._answer(partitions, self.ends)

    def beginning_offsets(
        self, partitions: list[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, int]:
        return self._answer(partitions, self.begins)

    def _answer(
        self, partitions: list[TopicPartition], offsets: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Answer for all partitions or raise, as kafka-python does."""
        if any(partition.topic in self.gone for partition in partitions):
            raise KafkaTimeoutError("no response")
        if missing := [partition for partition in partitions if partition in self.leaderless]:
            if len(missing) == len(partitions):
                raise KafkaTimeoutError("no leader")
            raise KeyError(missing[0])
        return {partition: offsets.get(partition, 0) for partition in partitions}

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        records_of = {}
        if self.raised:
            raise self.raised.pop(0)
        for partition in sorted(self.positions.keys() - self.held - self.leaderless):
            end = self.ends.get(partition, 0)  # first, because another thread may write meanwhile
            records = [
                SimpleNamespace(
                    offset=o, key=k, value=v, serialized_key_size=len(k), serialized_value_size=len(v or b"")
                )
                for o, k, v in self.log.get(partition, [])
                if self.positions[partition] <= o < end
            ]
            if records:
                records_of[partition] = records
            self.positions[partition] = max(self.positions[partition], end)
        return records_of

    def close(self, autocommit: bool) -> None:
        self.closed = True
