"""Records that are written to a group without a pause, and how often members processed each."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import Any

from kafka import KafkaProducer

from kafka_assignors.plan import TopicPartition
from tests.integration.members import Group, Member

READING: dict[str, Any] = {"auto_offset_reset": "earliest", "max_poll_records": 20}
Records = Counter[tuple[TopicPartition, int]]


class Producing:
    """Writes to all partitions of a group without a pause, from its own thread.

    Attributes:
        ends: partition -> number of records written; final once the ``with`` block is left.
    """

    def __init__(self, group: Group) -> None:
        self.ends = dict.fromkeys(sorted(group.partitions), 0)
        self._producer = KafkaProducer(bootstrap_servers=group.bootstrap, linger_ms=5)
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Producing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._enough.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        while not self._enough.wait(0.02):  # so that consumers keep up on a busy machine
            for tp in self.ends:
                self._producer.send(tp.topic, b"record", partition=tp.partition)
                self.ends[tp] += 1


def processed(*members: Member) -> Records:
    """How often each record was processed."""
    return Counter(
        (TopicPartition(topic, partition), offset)
        for member in members
        for event in member.of_kind("processed")
        for topic, partition, offset in event.facts["offsets"]
    )


def each_once(ends: dict[TopicPartition, int]) -> Records:
    """Return the place of every record of these partitions."""
    return Counter({(tp, offset): 1 for tp, end in ends.items() for offset in range(end)})
