"""The start of a member process: configuration, the pipe from its parent, its log, exit codes.

The end of stdin means that the demo has ended, and ends the member at once.  A member writes a
`KafkaAssignorsError` to stdout, which is a pipe, because its files may be on a full disk.  Any other
exception goes to stderr, the file ``NAME.err``.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from demo.group.logs import Entry, LogWriter
from kafka_assignors.errors import KafkaAssignorsError

ORPHANED = 75  # exit code (EX_TEMPFAIL)


class MemberConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of every member; the group has the name of the topic."""

    bootstrap: str
    topic: str
    client_id: str
    log: str
    session_timeout_ms: int
    heartbeat_ms: int

    def encode(self) -> bytes:
        """Return the configuration as one line of JSON."""
        return msgspec.json.encode(self) + b"\n"


class WorkerConfig(MemberConfig, frozen=True, kw_only=True, tag="worker"):
    """A member of replay or backlog; `Settings` explains the costs."""

    strategy: str
    work_ms: float
    warm_up_ms: float
    batch: int
    held: bool = False  # it is assigned partitions, but fetches no records before "go"


class StatefulConfig(MemberConfig, frozen=True, kw_only=True, tag="stateful"):
    """A member of the failover; `demo.failover.acts.Act` explains the copies."""

    store_dir: str
    standbys: int
    recovery_lag: int
    warmups: int


def decode_config(line: bytes) -> WorkerConfig | StatefulConfig:
    """Read the line that `MemberConfig.encode` wrote."""
    return msgspec.json.decode(line, type=WorkerConfig | StatefulConfig)


class ParentPipe:
    """The pipe from the parent process; ``on_end`` is called on the reading thread at its end."""

    def __init__(self, fd: int, on_end: Callable[[], None]) -> None:
        self._fd, self._on_end = fd, on_end
        self._rest = b""
        self.go = threading.Event()
        self.leave = threading.Event()

    def read_line(self) -> bytes:
        """Return the next line; empty at the end of the stream.

        It reads the descriptor, not ``sys.stdin``: a thread that waits inside a buffered reader holds the
        reader's lock, and the interpreter cannot exit.
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
        self._on_end()


def main() -> None:
    """Read the configuration and run until asked to leave."""
    parent = ParentPipe(0, on_end=lambda: os._exit(ORPHANED))
    line = parent.read_line()
    if not line:
        sys.exit("demo.member: started by the demo, with its configuration on stdin")
    config = decode_config(line)
    threading.Thread(target=parent.follow, name="parent", daemon=True).start()
    logging.basicConfig(level=logging.WARNING)
    try:
        log = LogWriter(Path(config.log))
        log.write(Entry(time.monotonic_ns(), "started", note=str(os.getpid())))
        _run(config, log, parent)
        log.write(Entry(time.monotonic_ns(), "left"))
    except KafkaAssignorsError as error:
        os.write(1, f"{error}\n".encode())
        os._exit(1)  # at once: a consumer that is closed in order would wait for a broker that is gone
    except Exception:
        traceback.print_exc()  # the demo quotes its last line
        os._exit(1)
    os._exit(0)  # clients may still have threads


def _run(config: WorkerConfig | StatefulConfig, log: LogWriter, parent: ParentPipe) -> None:
    if isinstance(config, StatefulConfig):
        from demo.member.stateful import run_stateful

        run_stateful(config, log, parent)
    else:
        from demo.member.worker import Worker

        worker = Worker(config, log)
        threading.Thread(target=worker.begin_on, args=(parent.go,), name="go", daemon=True).start()
        worker.run(parent.leave)
