"""``StatefulConsumer``: a member that processes tasks with local state (KIP-441).

One thread, that of `StatefulConsumer.run`, polls, processes and commits; a second one reads changelogs.  What
is processed is made safe in this order: changes to the changelog, acknowledged by all replicas in sync; the
store; the offsets.  So a member that is killed anywhere has lost nothing: at the worst the next one does the
records since the last commit again (at least once).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.adapter.consumer_side import request_rejoin, session_timeout_s
from kafka_assignors.errors import OptionError, StateClosedError
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.stateful.assignor import StatefulAssignor
from kafka_assignors.stateful.changelog_reader import ChangelogReader
from kafka_assignors.stateful.changelog_topics import changelogs_of
from kafka_assignors.stateful.changelog_writer import ChangelogWriter
from kafka_assignors.stateful.commits import PATIENCE, Commits
from kafka_assignors.stateful.copies import Copies
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.events import Assigned, Events, Lost, Revoked, TaskListener
from kafka_assignors.stateful.processing import Processing
from kafka_assignors.stateful.settings import RuntimeOptions, checked_config
from kafka_assignors.stateful.state_dir import StateDir
from kafka_assignors.stateful.stores import Stores
from kafka_assignors.stateful.tasks import ActiveTask, Process, Work
from kafka_assignors.stateful.topology import Task, Topology

__all__ = ["StatefulConsumer"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_CLEAN_EVERY_S = 60.0
_FIRST_LOOK_S = 5.0  # for how far behind the copies on disk are, before we join
_LOOK_S = 0.1  # for the answer to a heartbeat, before a commit
_AGAIN_S = 0.5  # after an error of the cluster
_CLOSE_MS = 5_000


class StatefulConsumer:
    """Processes the records of a topology, with the state of each task on this machine's disk.

    Args:
        topology: what is processed together, and which state it has; the same in all members.
        process: ``process(record, store)``, called for each record in the order of its partition; or one for
            each subtopology, by its id.  ``store`` is the task's, None where it has no state.  What it raises
            ends the member, with nothing of that record kept.
        store_dir: where state lies, on a disk of this machine; each process needs one of its own.
        options: how it runs.
        **consumer_config: as for ``KafkaConsumer``; ``group_id`` is the application.

    Raises:
        OptionError: a setting that is missing or makes no sense.
        TopologyError: the topics do not fit, or are missing.
        ChangelogError: changelogs cannot be made, or would lose state.
        StateError: the directory is in use, full, or not ours to use.
        MissingExtraError: ``pip install 'kafka-assignors[stateful]'``.
    """

    def __init__(
        self,
        topology: Topology,
        process: Process | Mapping[str, Process],
        store_dir: str | os.PathLike[str],
        *,
        options: RuntimeOptions | None = None,
        **consumer_config: Any,
    ) -> None:
        self._topology = topology
        self._options = options or RuntimeOptions()
        self._process = _processes(topology, process)
        config = checked_config(consumer_config)
        settings = fetch_settings(config, None, None)
        self._work = Work()
        self._holdings = Holdings()
        self._closing = threading.Event()
        self._next_commit = self._next_clean = 0.0
        self._ran = False
        self._one_at_a_time = threading.RLock()
        self._events = Events()
        with ExitStack() as undo:
            state_dir = StateDir(store_dir, settings.group_id)
            undo.callback(state_dir.close)
            self._assignor = StatefulAssignor(
                topology=topology,
                process_id=state_dir.process_id,
                holdings=lambda: self._holdings,
                on_duties=self._events.put,
                **self._options.planning,
            )
            find_changelogs = partial(
                changelogs_of,
                *(settings.client, topology, settings.group_id),
                replication_factor=self._options.changelog_replication_factor,
            )
            changelogs = find_changelogs()  # what is wrong with them is said before anything is begun
            self._consumer: Any = KafkaConsumer(**config, partition_assignment_strategy=[self._assignor])
            undo.callback(self._consumer.close, autocommit=False)
            writer = ChangelogWriter(settings.client, patience_s=PATIENCE * session_timeout_s(self._consumer))
            undo.callback(writer.close)
            self._reader = ChangelogReader(
                settings.client,
                standby_bytes_per_s=self._options.standby_bytes_per_s,
                fetch_max_bytes=self._options.restore_fetch_bytes,
            )
            undo.callback(self._reader.close)
            self._commits = Commits(self._consumer, writer)
            self._copies = Copies(
                *(topology, self._work, state_dir, Stores(self._options.store)),
                reader=self._reader,
                changelogs=changelogs,
                find_changelogs=find_changelogs,
            )
            self._processing = Processing(
                *(self._consumer, self._work, self._commits),
                max_uncommitted_bytes=self._options.max_uncommitted_bytes,
                stop=self._closing,
            )
            undo.pop_all()
        self._writer, self._state_dir = writer, state_dir
        self._listener = TaskListener(self._consumer, self._events, self._heed_events)

    # --- for the application

    def run(self) -> None:
        """Process until `close` is called, from any thread or a signal handler; then end in order.

        Raises:
            Exception: whatever ``process`` raised; what was done before that record is safe.
            StateError: state on disk cannot be used.
            ChangelogError: a changelog refuses what is written to it.
            KafkaError: the cluster refuses us.
            StateClosedError: it was called before.
        """
        if self._ran:
            raise StateClosedError("this StatefulConsumer has been run, or closed: make a new one")
        self._ran = True
        try:
            self._reader.look(_FIRST_LOOK_S)
            self._holdings = self._copies.holdings()
            self._consumer.subscribe(list(self._topology.topics), listener=self._listener)
            while not self._closing.is_set():
                self._turn()
            self._finish()
        finally:
            self._shut_down()

    def close(self) -> None:
        """Ask ``run`` to end; returns at once."""
        self._closing.set()

    def __enter__(self) -> StatefulConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
        if not self._ran:
            self._ran = True
            self._shut_down()

    @property
    def duties(self) -> Duties:
        """What this member was told to do last: its tasks, standbys and warm-ups, and who has which."""
        return self._work.duties

    @property
    def ready(self) -> frozenset[Task]:
        """The tasks that are processed now: those whose state is here."""
        return frozenset(task for task, active in self._work.actives.copy().items() if active.ready)

    @property
    def lags(self) -> Mapping[Task, int]:
        """Records that copies lack, as the group is told when this member joins."""
        return self._holdings.lags

    @property
    def restored_records(self) -> int:
        """Records of changelogs that were applied to copies here, so far."""
        return self._reader.applied

    @property
    def restored(self) -> Mapping[Task, int]:
        """The same by task: what each copy here took so far, whether a task waited for it or it stood by."""
        return self._reader.applied_to

    # --- one turn

    def _turn(self) -> None:
        records = self._poll()
        with self._one_at_a_time:
            self._heed_events()
            batches = [(self._work.actives.get(self._task(at)), at, batch) for at, batch in records.items()]
            for active, error in self._processing.take(batches):
                self._copies.anew(active, error)
            self._copies.heed()
            self._copies.retry()
            self._processing.let_flow()
            now = time.monotonic()
            if now >= self._next_commit:
                self._next_commit = now + self._options.commit_interval_ms / 1000
                self._processing.commit(_LOOK_S)
            self._copies.save()
            self._holdings = self._copies.holdings()
            self._probe()
            if now >= self._next_clean:
                self._next_clean = now + _CLEAN_EVERY_S
                self._copies.clean(self._options.cleanup_delay_s)

    def _poll(self) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        try:
            records: Mapping[TopicPartition, list[ConsumerRecord]] = self._consumer.poll(_POLL_MS)
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("the cluster cannot be asked: %s; trying again", error)
            self._closing.wait(_AGAIN_S)
            records = {}
        if (raised := self._listener.error) is not None:
            raise raised
        return records

    # --- what the group decides

    def _heed_events(self) -> None:
        """On the thread that polls, or, while that waits in ``poll``, on the one that gives tasks back."""
        with self._one_at_a_time:
            while (event := self._events.next()) is not None:
                match event:
                    case Duties():
                        self._work.duties = event
                    case Revoked(partitions):
                        try:
                            self._processing.commit(PATIENCE * session_timeout_s(self._consumer))
                        finally:
                            self._let_go(partitions)
                    case Lost(partitions):
                        self._let_go(partitions)
                    case Assigned(partitions):
                        self._begin(partitions)
                self._copies.keep()
            self._holdings = self._copies.holdings()

    def _begin(self, partitions: frozenset[TopicPartition]) -> None:
        for at in partitions:
            task = self._task(at)
            active = self._work.actives.setdefault(task, ActiveTask(task, self._process[task[0]]))
            active.partitions |= {at}
            active.flowing = False
        for task in sorted({self._task(at) for at in partitions}):
            self._copies.begin(self._work.actives[task])

    def _let_go(self, partitions: frozenset[TopicPartition]) -> None:
        """What was committed is; the rest is not ours any more."""
        self._commits.forget(partitions)
        for task in sorted({self._task(at) for at in partitions} & self._work.actives.keys()):
            active = self._work.actives[task]
            began = active.undo()
            active.partitions -= partitions
            if not active.partitions:
                del self._work.actives[task]
                self._copies.end(active)
                continue
            for at in began.keys() & active.partitions:
                self._consumer.seek(at, began[at])
        self._processing.go_on()

    def _probe(self) -> None:
        at = self._work.duties.probe_at
        if at is not None and time.time() >= at:
            self._work.duties = replace(self._work.duties, probe_at=None)
            log.info("probing rebalance: a better plan may have its copies by now")
            self._assignor.say_anew()
            request_rejoin(self._consumer)

    # --- the end

    def _finish(self) -> None:
        """Make safe what was done; a join that is under way, or a broker that is away, is waited for."""
        until = time.monotonic() + PATIENCE * session_timeout_s(self._consumer)
        with self._one_at_a_time:
            self._processing.stop_flow(self._work.actives.values())
        while not self._processing.commit() and time.monotonic() < until:
            self._poll()
            self._heed_events()

    def _shut_down(self) -> None:
        """Let go of everything, in order, whatever fails on the way."""
        self._step(partial(self._consumer.close, autocommit=False, timeout_ms=_CLOSE_MS))
        with self._one_at_a_time:
            for step in (self._copies.close, self._writer.close, self._state_dir.close):
                self._step(step)

    def _step(self, do: Callable[[], object]) -> None:
        try:
            do()
        except Exception:
            log.exception("ending a stateful consumer: a step failed")

    def _task(self, at: TopicPartition) -> Task:
        (task,) = self._topology.tasks_of([at])
        return task


def _processes(topology: Topology, process: Process | Mapping[str, Process]) -> dict[str, Process]:
    ids = {subtopology.id for subtopology in topology.subtopologies}
    if callable(process):
        return dict.fromkeys(ids, process)
    if set(process) != ids or not all(map(callable, process.values())):
        raise OptionError("process", f"expected a function, or one for each of {', '.join(sorted(ids))}")
    return dict(process)
