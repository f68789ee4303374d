"""A member of replay and backlog: it polls, works, logs and commits."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from demo.group.logs import Entry, LogWriter
from demo.member.group_consumer import Call, GroupConsumer
from demo.member.start import WorkerConfig

POLL_MS = 1_000  # longer than most joins take; records end the wait at once


def work_on(value: bytes, seconds: float) -> None:
    """Process one record: parse it, and wait as for a call to a service."""
    json.loads(value)
    if seconds:
        time.sleep(seconds)


class Worker:
    """Polls, processes, logs and commits, in this order: at least once.

    Records that were logged as done but not committed when the process died are done again by the next owner.
    Each record is logged before the next one's work begins, so that every repeat is counted.

    Args:
        config: its configuration.
        log: its event log.
    """

    def __init__(self, config: WorkerConfig, log: LogWriter) -> None:
        self._config = config
        self._log = log
        self._generation = -1
        self._refused = ""  # why the last commit was refused
        self._consumer = GroupConsumer(config, report=self._rebalanced)

    def _rebalanced(self, call: Call, partitions: tuple[int, ...]) -> None:
        self._log.write(Entry(time.monotonic_ns(), call, partitions))

    def begin_on(self, go: threading.Event) -> None:
        """Wait for "go" and let the consumer fetch; run this in a daemon thread.

        The member's own thread may be waiting for a join just then, and a join must not be cut short.
        """
        go.wait()
        self._consumer.release()

    def run(self, leave: threading.Event) -> None:
        """Consume until asked to leave, then close cleanly."""
        while not leave.is_set():
            batch = self._consumer.poll(POLL_MS)
            self._note_generation()
            self._open_gained(leave)
            for partition, records in batch.items():
                self._work_through(partition, records)
            self._commit(bool(batch))
        self._consumer.close()

    def _work_through(self, partition: int, records: list[Any]) -> None:
        began = time.monotonic_ns()
        for record in records:
            work_on(record.value, self._config.work_ms / 1e3)
            # The log comes first: a rebalance may commit processed records at any moment.
            offset = record.offset
            self._log.write(Entry(time.monotonic_ns(), "done", (partition,), offset, offset, began))
            self._consumer.processed(record)

    def _commit(self, worked: bool) -> None:
        """Commit after work, and retry a refused commit once the group has met again."""
        if not worked and (not self._refused or self._consumer.generation() == -1):
            return
        self._refused = self._consumer.commit()
        if self._refused:
            self._log.write(Entry(time.monotonic_ns(), "uncommitted", note=self._refused))

    def _note_generation(self) -> None:
        generation = self._consumer.generation()
        if generation not in {-1, self._generation}:
            self._generation = generation
            owned = tuple(sorted(self._consumer.owned()))
            self._log.write(Entry(time.monotonic_ns(), "joined", owned, generation=generation))

    def _open_gained(self, leave: threading.Event) -> None:
        """Warm up for the gained partitions one after the other.

        An eager rebalance revokes everything, but a partition that comes straight back is still open and
        costs nothing.  A member that is asked to leave stops: the last one of a group would open all of it.
        """
        for partition in self._consumer.take_gained():
            if leave.is_set():
                return
            began = time.monotonic_ns()
            time.sleep(self._config.warm_up_ms / 1e3)
            self._log.write(Entry(time.monotonic_ns(), "opened", (partition,), began=began))
