"""One member of the stateful group: ``python -m demo.failover.member``.

It is led by its stdin as the other scenes' members are (`demo.group.member`): the configuration,
then ``leave``.  Each record is logged when it is processed, and what the member has, is told to do and
restores, whenever that changes.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from demo.failover.acts import HEARTBEAT_MS, PROBING_MS, SUBTOPOLOGY
from demo.failover.counting import Record, Store, count_flight
from demo.group.logs import Entry, LogWriter
from demo.group.member import ORPHANED, ParentPipe
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.stateful import (
    Duties,
    RuntimeOptions,
    StatefulConsumer,
    StoreOptions,
    Subtopology,
    Topology,
)
from kafka_assignors.wire.stateful.task_section import Task

COMMIT_MS = 200
LOOK_S = 0.02
RESTORED_EVERY_S = 0.05  # at least between two entries of how far copies are
MIB = 1024 * 1024
STORE = StoreOptions(block_cache_bytes=32 * MIB, write_buffer_bytes=32 * MIB)
_PROBES = "probing rebalance"  # how the runtime's line about one begins


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """What one member has to know."""

    bootstrap: str
    topic: str
    group: str
    client_id: str
    log: str
    store_dir: str
    standbys: int
    recovery_lag: int
    warmups: int
    session_timeout_ms: int

    def encode(self) -> bytes:
        """Return it as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Member(Protocol):
    """What is looked at of a stateful consumer."""

    @property
    def duties(self) -> Duties:
        """What it was told."""

    @property
    def ready(self) -> frozenset[Task]:
        """What it processes."""

    @property
    def lags(self) -> Mapping[Task, int]:
        """What its copies lack."""

    @property
    def restored(self) -> Mapping[Task, int]:
        """What its copies took."""


class StateLog:
    """Logs what a member has and does, when it is another thing than before.

    How far copies are comes before what that leads to: when a task is ready, all that was restored for it is
    in the log.

    Args:
        member: whose.
        log: where to.
        clock: ns.
    """

    def __init__(self, member: Member, log: LogWriter, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._member, self._log, self._clock = member, log, clock
        self._said: tuple[Entry | None, ...] = (None, None)
        self._standbys: Entry | None = None
        self._restored: dict[Task, int] = {}
        self._restored_at = 0

    def look(self) -> None:
        """Look once."""
        now, duties = self._clock(), self._member.duties
        ready = tuple(sorted(number for _, number in self._member.ready))
        probing = "probing" if duties.probe_at is not None else ""
        told = (
            Entry(0, "state", ready, generation=duties.generation, note=probing),
            Entry(0, "warmups", tuple(sorted(number for _, number in duties.warmups))),
        )
        if told != self._said or now - self._restored_at >= RESTORED_EVERY_S * 1e9:
            self._restored_at = now
            self._look_at_copies(now, duties)
        for entry, before in zip(told, self._said, strict=True):
            if entry != before:
                self._log.write(replace(entry, t=now))
        self._said = told

    def _look_at_copies(self, now: int, duties: Duties) -> None:
        restored = dict(self._member.restored)
        for task, records in sorted(restored.items()):
            if self._restored.get(task) != records:
                self._log.write(Entry(now, "restored", (task[1],), last=records))
        self._restored = restored
        lags = self._member.lags
        known = [lags[task] for task in duties.standbys if task in lags]
        behind = max(known, default=0) if len(known) == len(duties.standbys) else -1
        standbys = Entry(0, "standbys", tuple(sorted(number for _, number in duties.standbys)), last=behind)
        if standbys != self._standbys:
            self._standbys = standbys
            self._log.write(replace(standbys, t=now))


class _Probes(logging.Handler):
    """Logs each probing rebalance that this member asks for."""

    def __init__(self, log: LogWriter) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(_PROBES):
            self._log.write(Entry(time.monotonic_ns(), "probe"))


def _consumer(config: MemberConfig, log: LogWriter) -> StatefulConsumer:
    def process(record: Record, store: Store) -> None:
        count_flight(record, store)
        log.write(Entry(time.monotonic_ns(), "done", (record.partition,), record.offset, record.offset))

    return StatefulConsumer(
        Topology((Subtopology(SUBTOPOLOGY, (config.topic,)),)),
        process,
        config.store_dir,
        options=RuntimeOptions(
            num_standby_replicas=config.standbys,
            acceptable_recovery_lag=config.recovery_lag,
            max_warmup_replicas=config.warmups,
            probing_rebalance_interval_ms=PROBING_MS,
            commit_interval_ms=COMMIT_MS,
            store=STORE,
        ),
        bootstrap_servers=config.bootstrap,
        group_id=config.group,
        client_id=config.client_id,
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )


def _watch(state: StateLog) -> None:
    while True:
        state.look()
        time.sleep(LOOK_S)


def main() -> None:
    """Read the configuration and run until told to leave."""
    parent = ParentPipe(0, closed=lambda: os._exit(ORPHANED))
    line = parent.read_line()
    if not line:
        sys.exit("demo.failover.member: started by the demo, with its configuration on stdin")
    config = MemberConfig(**json.loads(line))
    threading.Thread(target=parent.follow, name="parent", daemon=True).start()
    logging.basicConfig(level=logging.WARNING)
    ours = logging.getLogger("kafka_assignors")
    ours.setLevel(logging.INFO)
    try:
        log = LogWriter(Path(config.log))
        log.write(Entry(time.monotonic_ns(), "started", note=str(os.getpid())))
        ours.addHandler(_Probes(log))
        consumer = _consumer(config, log)
        threading.Thread(target=_watch, args=(StateLog(consumer, log),), name="watch", daemon=True).start()
        threading.Thread(target=_close, args=(parent.leave, consumer), name="leave", daemon=True).start()
        consumer.run()
        log.write(Entry(time.monotonic_ns(), "left"))
    except KafkaAssignorsError as error:
        os.write(1, f"{error}\n".encode())
        os._exit(1)  # at once: a consumer that is closed in order would wait for a broker that is gone
    except Exception:
        traceback.print_exc()  # the demo quotes its last line
        os._exit(1)
    os._exit(0)  # whatever threads of clients are still about


def _close(leave: threading.Event, consumer: StatefulConsumer) -> None:
    leave.wait()
    consumer.close()


if __name__ == "__main__":
    main()
