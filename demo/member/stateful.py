"""A member of the failover: it counts flights in local state, and logs changes of its tasks and copies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from kafka.consumer.fetcher import ConsumerRecord
from msgspec.structs import replace

from demo.failover.acts import PROBING_MS, SUBTOPOLOGY
from demo.failover.counting import count_flight
from demo.group.logs import Entry, LogWriter
from demo.member.start import ParentPipe, StatefulConfig
from kafka_assignors.stateful import (
    Duties,
    RuntimeOptions,
    StatefulConsumer,
    Store,
    StoreOptions,
    Subtopology,
    Topology,
)
from kafka_assignors.wire.stateful.task_section import Task

COMMIT_MS = 200
LOOK_S = 0.02
RESTORED_EVERY_S = 0.05  # least time between two entries about copies
MIB = 1024 * 1024
STORE = StoreOptions(block_cache_bytes=32 * MIB, write_buffer_bytes=32 * MIB)


class StateLog:
    """Logs the tasks and copies of a member when they change, and each probing rebalance that it requests.

    Entries about copies come first, so the log has the whole restore of a task before the task is ready.
    """

    def __init__(
        self, member: StatefulConsumer, log: LogWriter, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._member, self._log, self._clock = member, log, clock
        self._tasks: tuple[Entry | None, ...] = (None, None)
        self._standbys: Entry | None = None
        self._duties = Duties()  # at the last look
        self._restored: dict[Task, int] = {}
        self._restored_at = 0

    def look(self) -> None:
        """Log the changes since the last call."""
        now, duties = self._clock(), self._member.duties
        probing = "probing" if duties.probe_at is not None else ""
        tasks = (
            Entry(0, "state", _numbers(self._member.ready), generation=duties.generation, note=probing),
            Entry(0, "warmups", _numbers(duties.warmups)),
        )
        if tasks != self._tasks or now - self._restored_at >= RESTORED_EVERY_S * 1e9:
            self._restored_at = now
            self._look_at_copies(now, duties)
        for entry, before in zip(tasks, self._tasks, strict=True):
            if entry != before:
                self._log.write(replace(entry, t=now))
        self._tasks = tasks
        if _probed(self._duties, duties):
            self._log.write(Entry(now, "probe"))
        self._duties = duties

    def _look_at_copies(self, now: int, duties: Duties) -> None:
        restored = dict(self._member.restored)
        for task, records in sorted(restored.items()):
            if self._restored.get(task) != records:
                self._log.write(Entry(now, "restored", (task[1],), last=records))
        self._restored = restored
        lags = self._member.lags
        known = [lags[task] for task in duties.standbys if task in lags]
        behind = max(known, default=0) if len(known) == len(duties.standbys) else -1
        standbys = Entry(0, "standbys", _numbers(duties.standbys), last=behind)
        if standbys != self._standbys:
            self._standbys = standbys
            self._log.write(replace(standbys, t=now))


def _probed(before: Duties, now: Duties) -> bool:
    """Return whether the member requested a probing rebalance between two looks.

    A request unsets ``probe_at`` at once.  Without a request, only a new generation unsets it.  A request
    whose rebalance ends between two looks is missed.
    """
    return before.probe_at is not None and now.probe_at is None and now.generation == before.generation


def _numbers(tasks: Iterable[Task]) -> tuple[int, ...]:
    return tuple(sorted(number for _, number in tasks))


def run_stateful(config: StatefulConfig, log: LogWriter, parent: ParentPipe) -> None:
    """Count flights until asked to leave, then close cleanly."""

    def process(record: ConsumerRecord, store: Store) -> None:
        count_flight(record, store)
        log.write(Entry(time.monotonic_ns(), "done", (record.partition,), record.offset, record.offset))

    consumer = StatefulConsumer(
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
        group_id=config.topic,
        client_id=config.client_id,
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_ms,
    )

    def watch(state: StateLog) -> None:
        while True:
            state.look()
            time.sleep(LOOK_S)

    def close_on_leave() -> None:
        parent.leave.wait()
        consumer.close()

    threading.Thread(target=watch, args=(StateLog(consumer, log),), name="watch", daemon=True).start()
    threading.Thread(target=close_on_leave, name="leave", daemon=True).start()
    consumer.run()
