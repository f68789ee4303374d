"""Consumers that a thread polls, and the partitions they own."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from kafka.errors import KafkaError

from bench.pauses.figures import Delivery
from kafka_assignors import CooperativeStickyAssignor
from tests.integration.conftest import FreshNames


def settings(fresh: FreshNames, group: str) -> dict[str, Any]:
    """Return the settings of all members."""
    return {
        "bootstrap_servers": fresh.bootstrap,
        "group_id": group,
        "partition_assignment_strategy": [CooperativeStickyAssignor],
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 200,
        "enable_auto_commit": False,
    }


class Polled:
    """A consumer that a thread polls.

    Attributes:
        is_polling: cleared while the application is busy.
        seen: how often each (partition, offset) was delivered.
        values: how often each value was delivered.
        errors: of commits.
    """

    def __init__(self, consumer: Any, *, commits: bool = True, poll_ms: int = 50) -> None:
        self.consumer = consumer
        self._poll_ms = poll_ms
        self._commits = commits
        self.is_polling = threading.Event()
        self.is_polling.set()
        self.seen: Counter[tuple[int, int]] = Counter()
        self.values: Counter[bytes] = Counter()
        self.errors: list[KafkaError] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll)

    def __enter__(self) -> Polled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.is_polling.set()
        self._thread.join()

    def deliveries(self) -> list[Delivery]:
        """Return the polled records, in the form that ``bench.pauses.figures`` checks."""
        return [Delivery(0.0, "polled", partition, offset, offset) for partition, offset in self.seen.copy()]

    def poll(self) -> bool:
        """Poll once; returns whether there were records."""
        records = self.consumer.poll(timeout_ms=self._poll_ms)
        for batch in records.values():
            self.seen.update((record.partition, record.offset) for record in batch)
            self.values.update(record.value for record in batch)
        try:
            if records and self._commits:
                self.consumer.commit()
        except KafkaError as error:
            self.errors.append(error)
        return bool(records)

    def _poll(self) -> None:
        while not self._stop.is_set():
            self.is_polling.wait()
            self.poll()


def owned(*consumers: Any) -> list[int]:
    """Partitions of some consumers, each as often as it is owned."""
    return sorted(tp.partition for consumer in consumers for tp in consumer.assignment())
