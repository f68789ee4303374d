"""One consumer process: ``python -m demo.group.member``.

Its first line on stdin is its configuration as JSON.  After that, the line ``go`` lets a member that was
held begin to work, and ``leave`` asks it to finish its batch and close; the end of stdin means that whoever
started it is gone, and ends it at once.  When it cannot go on it says why on stdout, which is a pipe: its
files may be on a disk that is full.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from demo.group.consumer import Call, GroupConsumer
from demo.group.logs import Entry, LogWriter
from kafka_assignors.errors import KafkaAssignorsError

POLL_MS = 1_000  # longer than most joins take; records end the wait at once
ORPHANED = 75  # exit code (EX_TEMPFAIL)


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """What one member has to know; the costs are explained in `Settings`."""

    bootstrap: str
    topic: str
    group: str
    client_id: str
    strategy: str
    log: str
    work_ms: float
    warm_up_ms: float
    session_timeout_ms: int
    heartbeat_ms: int
    batch: int
    held: bool = False

    def encode(self) -> bytes:
        """Return it as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"


class ParentPipe:
    """The pipe from the process that started this one: lines to read, and word of its end.

    Args:
        fd: the file descriptor to read.
        closed: called, on the reading thread, when the other end is gone.
    """

    def __init__(self, fd: int, closed: Callable[[], None]) -> None:
        self._fd = fd
        self._closed = closed
        self._rest = b""
        self.go = threading.Event()
        self.leave = threading.Event()

    def read_line(self) -> bytes:
        """Return the next line; empty at the end of the stream.

        It reads the descriptor, not ``sys.stdin``: a thread that waits inside a buffered reader holds its
        lock, and the interpreter cannot exit.
        """
        while b"\n" not in self._rest:
            chunk = os.read(self._fd, 65536)
            if not chunk:
                return b""
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def follow(self) -> None:
        """Follow the stream until it ends; run this in a daemon thread."""
        while line := self.read_line():
            if line == b"go":
                self.go.set()
            elif line == b"leave":
                self.leave.set()
        self._closed()


def work_on(value: bytes, seconds: float) -> None:
    """Process one record: read it, and wait as for a call to a service."""
    json.loads(value)
    if seconds:
        time.sleep(seconds)


class Member:
    """Polls, processes, logs and commits, in this order: at least once.

    What was logged as done but not committed when the process died is done again by the next owner.  Each
    record is logged before the next one's work begins, so that none of these repeats goes uncounted.

    Args:
        config: what to do.
        log: where every event goes.
    """

    def __init__(self, config: MemberConfig, log: LogWriter) -> None:
        self._config = config
        self._log = log
        self._generation = -1
        self._refused = ""  # why the last commit was refused
        self._consumer = GroupConsumer(
            bootstrap=config.bootstrap,
            topic=config.topic,
            group=config.group,
            client_id=config.client_id,
            strategy=config.strategy,
            session_timeout_ms=config.session_timeout_ms,
            heartbeat_ms=config.heartbeat_ms,
            batch=config.batch,
            report=self._rebalanced,
            held=config.held,
        )

    def _rebalanced(self, call: Call, partitions: tuple[int, ...]) -> None:
        self._log.write(Entry(time.monotonic_ns(), call, partitions))

    def begin_on(self, go: threading.Event) -> None:
        """Wait for the word and let the records come; run this in a daemon thread.

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
        self._log.write(Entry(time.monotonic_ns(), "left"))

    def _work_through(self, partition: int, records: list[Any]) -> None:
        began = time.monotonic_ns()
        for record in records:
            work_on(record.value, self._config.work_ms / 1e3)
            # The log comes first: a rebalance may commit what counts as processed at any moment.
            offset = record.offset
            self._log.write(Entry(time.monotonic_ns(), "done", (partition,), offset, offset, began))
            self._consumer.processed(record)

    def _commit(self, worked: bool) -> None:
        """Commit after work, and for as long as the last commit was refused, once the group has met again."""
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
        """Warm up for the partitions really gained, one after the other, before going on.

        An eager rebalance revokes everything, but a partition that comes straight back is still open and
        costs nothing.  A member that is asked to leave stops: the last one of a group would open all of it.
        """
        for partition in self._consumer.take_gained():
            if leave.is_set():
                return
            began = time.monotonic_ns()
            time.sleep(self._config.warm_up_ms / 1e3)
            self._log.write(Entry(time.monotonic_ns(), "opened", (partition,), began=began))


def main() -> None:
    """Read the configuration and run until told to leave."""
    parent = ParentPipe(0, closed=lambda: os._exit(ORPHANED))
    line = parent.read_line()
    if not line:
        sys.exit("demo.group.member: started by the demo, with its configuration on stdin")
    config = MemberConfig(**json.loads(line))
    threading.Thread(target=parent.follow, name="parent", daemon=True).start()
    try:
        log = LogWriter(Path(config.log))
        log.write(Entry(time.monotonic_ns(), "started", note=str(os.getpid())))
        member = Member(config, log)
        threading.Thread(target=member.begin_on, args=(parent.go,), name="go", daemon=True).start()
        member.run(parent.leave)
    except KafkaAssignorsError as error:
        os.write(1, f"{error}\n".encode())
        os._exit(1)  # at once: a consumer that is closed in order would wait for a broker that is gone


if __name__ == "__main__":
    main()
