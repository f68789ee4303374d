"""``StatefulConsumer``: a member that processes tasks with local state (KIP-441).

The thread of `StatefulConsumer.run` polls, processes and commits.  A second thread reads changelogs.  During
a revocation a third thread commits, while the poll waits.  A commit flushes the application's own output
(``before_commit``), writes changes to the changelog and waits for all in-sync replicas, writes the store, and
commits the offsets, in this order.  So a member that is killed at any point loses nothing that has a
changelog: the next owner processes the records since the last commit again (at least once).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import FencedInstanceIdError, KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import (
    drop_exhausted_batch,
    generation_of,
    is_fenced,
    is_settled,
    request_rejoin,
)
from kafka_assignors.assignor.coordinator_access.metrics import consumer_recorder
from kafka_assignors.errors import StateClosedError
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.metrics import register_metrics
from kafka_assignors.stateful.runtime.assembly import assemble
from kafka_assignors.stateful.runtime.events import Assigned, Event, Lost, Revoked, TaskListener
from kafka_assignors.stateful.runtime.ownership import TaskOwnership, process_functions
from kafka_assignors.stateful.runtime.processing import HEARTBEAT_WAIT_S
from kafka_assignors.stateful.runtime.tasks import MemberTasks, Process
from kafka_assignors.stateful.settings import RuntimeOptions
from kafka_assignors.stateful.shutdown import Shutdown
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_LAGS_S = 5.0  # limit for measuring the lags of copies on disk before the member joins
_RETRY_PAUSE_S = 0.5  # pause after an error of the cluster


class StatefulConsumer:
    """Processes the records of a topology, with the state of each task on this machine's disk.

    Args:
        topology: the subtopologies and their state; the same in all members.
        process: ``process(record, store)``, called for each record in the order of its partition; or one
            function for each subtopology, by its id.  ``store`` is the store of the task, None for a
            subtopology without state.  An exception ends the member and drops all changes of that record.
            After a `StateDamagedError` the store is restored instead, and the record processed again.
        store_dir: directory for state, on a disk of this machine; each process needs its own.
        options: runtime options.
        **consumer_config: as for ``KafkaConsumer``; ``group_id`` names the application.

    Raises:
        OptionError: a setting is missing or invalid.  (``KafkaConsumer`` raises other errors for its own.)
        TopologyError: source topics are missing; the topics of a subtopology differ in partitions; a
            changelog is missing, or has more partitions than its source topics.
        ChangelogError: a changelog cannot be created, or its settings would lose state.
        StateError: the directory is in use, full, or not accessible.
        MissingExtraError: an extra is not installed; the message names it.
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
        functions = process_functions(topology, process)
        self._tasks = MemberTasks()
        self._holdings = Holdings()
        self._closing = Shutdown(self._options.close_timeout_s)
        self._used = threading.Lock()  # taken by the first call of `run` or `close`, and never released
        self._ran = False
        self._probe_due = 0.0  # monotonic seconds
        self._lock = threading.RLock()
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._components = components = assemble(
            topology,
            store_dir,
            self._options,
            consumer_config,
            tasks=self._tasks,
            holdings=lambda: self._holdings,
            on_duties=self._events.put,
            shutdown=self._closing,
        )
        self._consumer, self._reader, self._lease = components.consumer, components.reader, components.lease
        self._copies, self._processing = components.copies, components.processing
        self._ownership = TaskOwnership(
            topology,
            functions,
            self._tasks,
            consumer=self._consumer,
            lease=self._lease,
            commits=components.commits,
            copies=self._copies,
            processing=self._processing,
        )
        recorder = consumer_recorder(self._consumer)
        register_metrics(
            recorder, self._tasks, self._reader, processing=self._processing, copies=self._copies
        )
        self._listener = TaskListener(self._consumer, self._events, self._handle_events)

    # --- for the application

    def run(self) -> None:
        """Process records until `close` is called, then commit and close.  Call it once.

        Raises:
            Exception: from ``process``: the changes of that record are dropped.  Earlier work is committed,
                or the next owner processes it again.  From ``before_commit``: records since the last commit
                are processed again.
            StateError: state on disk cannot be used.
            ChangelogError: a changelog refuses a record.
            KafkaError: the cluster refuses this member.  `FencedInstanceIdError`: another consumer joined
                with the same ``group_instance_id``.
            StateClosedError: ``run`` was called before, or the ``with`` block has ended.
        """
        if self._ran:
            raise StateClosedError("this StatefulConsumer ran or was closed: create a new one")
        self._ran = True
        if not self._used.acquire(blocking=False):
            return  # a signal handler closed it before `run`
        try:
            self._copies.wait_for_lags(_LAGS_S)
            self._holdings = self._copies.holdings()
            self._consumer.subscribe(list(self._topology.topics), listener=self._listener)
            while not self._closing.is_set():
                self._turn()
            self._finish()
        except FencedInstanceIdError as error:  # its own text does not name the cause
            raise FencedInstanceIdError(
                "another consumer joined with our group_instance_id and owns our tasks: "
                "give each process its own group_instance_id"
            ) from error
        finally:
            self._components.end(self._lock, self._closing)

    def close(self) -> None:
        """Ask ``run`` to end, and return at once.  Safe to repeat, from any thread or a signal handler.

        ``run`` ends within ``close_timeout_s`` of this call.  If a call of ``process`` lasts longer, ``run``
        ends soon after that call, without a commit.  The next owner processes again all records that are not
        committed by then.  A consumer that never ran is closed before this method returns; ``run`` then does
        nothing.
        """
        self._closing.set()
        if self._used.acquire(blocking=False):
            self._components.end(self._lock, self._closing)

    def __enter__(self) -> StatefulConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._ran = True

    @property
    def duties(self) -> Duties:
        """The leader's last assignment of tasks and copies to this member, and the tasks of each endpoint."""
        return self._tasks.duties

    @property
    def ready(self) -> frozenset[Task]:
        """The active tasks whose state is restored, so that they may be processed."""
        return frozenset(task for task, active in self._tasks.actives.copy().items() if active.ready)

    @property
    def lags(self) -> Mapping[Task, int]:
        """Task -> lag of its copy (records), as this member reports it when it joins."""
        return self._holdings.lags

    @property
    def restored(self) -> Mapping[Task, int]:
        """Task -> changelog records applied to its copy so far, as standby, warm-up or while restoring."""
        return self._reader.applied_to

    def metrics(self, raw: bool = False) -> dict[Any, Any] | None:
        """Return the metrics of the ``KafkaConsumer`` and this member, as ``KafkaConsumer.metrics``.

        Empty once this consumer is closed; None with ``metrics_enabled=False``.
        """
        metrics: dict[Any, Any] | None = self._consumer.metrics(raw)
        return metrics

    # --- one turn

    def _turn(self) -> None:
        records = self._poll()
        with self._lock:
            self._lease.observe()
            self._handle_events()
            self._ownership.begin_when_alone()
            self._processing.process(
                (self._tasks.actives.get(self._ownership.task_of(partition)), partition, batch)
                for partition, batch in records.items()
            )
            self._processing.commit_if_due(HEARTBEAT_WAIT_S)
            if self._lease.is_valid():
                self._copies.confirm()
            for active, error in self._copies.flush_one():
                self._processing.suspend(active, error)
            self._restore_damaged()
            self._copies.take_restored()
            self._copies.retry()
            self._processing.resume_ready()
            self._holdings = self._copies.holdings()
            self._probe()
            if self._is_settled():
                self._copies.clean(self._options.cleanup_delay_s)

    def _poll(self) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        drop_exhausted_batch(self._consumer)  # ContinuousConsumer does, but only with a kafka-python it knows
        try:
            records: Mapping[TopicPartition, list[ConsumerRecord]] = self._consumer.poll(_POLL_MS)
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("poll failed: %s; trying again in %.1f s", error, _RETRY_PAUSE_S)
            time.sleep(_RETRY_PAUSE_S)  # also while closing, so that `_finish` does not poll in a tight loop
            records = {}
        if (raised := self._listener.error) is not None:
            raise raised
        if is_fenced(self._consumer):
            raise FencedInstanceIdError
        return records

    def _restore_damaged(self) -> None:
        for active, error in self._processing.damaged():
            if self._tasks.actives.get(active.task) is active:
                self._copies.restore_damaged(active, error)

    # --- rebalance events

    def _handle_events(self) -> None:
        """Handle the queued events, on the polling thread or on the thread that `TaskListener` waits for."""
        with self._lock:
            while not self._events.empty():
                match event := self._events.get():
                    case Duties(probe_at=probe_at):
                        self._tasks.duties = event
                        if probe_at is not None:
                            most_s = self._options.probing_rebalance_interval_ms / 1000
                            in_s = min(probe_at - time.time(), most_s)
                            self._probe_due = time.monotonic() + in_s  # the system's clock may step back
                    case Revoked(partitions):
                        try:
                            is_alone = self._lease.wait_until_alone()
                            if is_alone and not self._processing.commit(self._lease.patience_s):
                                log.warning(
                                    "revoked %d partitions, but not all work is committed: "
                                    "the next owners process the rest again",
                                    len(partitions),
                                )
                        finally:
                            self._ownership.release(partitions)
                    case Lost(partitions):
                        self._ownership.release(partitions)
                        # The next join follows at once, and must report the state of the lost tasks.
                        self._copies.wait_for_lags(_LAGS_S)
                    case Assigned(partitions, member_id):
                        self._ownership.begin(partitions, member_id)
                self._copies.update_standbys()
            self._holdings = self._copies.holdings()

    def _is_settled(self) -> bool:
        """Whether no rebalance is under way, and the duties are of the current generation."""
        return is_settled(self._consumer) and self._tasks.duties.generation == generation_of(self._consumer)

    def _probe(self) -> None:
        if self._tasks.duties.probe_at is not None and time.monotonic() >= self._probe_due:
            self._tasks.duties = replace(self._tasks.duties, probe_at=None)
            log.info("requesting a probing rebalance: copies may have caught up, so tasks can move")
            self._components.assignor.refresh_user_data()
            request_rejoin(self._consumer)

    # --- the end

    def _finish(self) -> None:
        """Commit the last work and repair the changelogs, while time is left.

        A join or an absent broker may delay a commit.  Only this member can repair a changelog,
        because its store has the right values: the next owner has only the changelog.
        """
        with self._lock:
            self._processing.pause_tasks(self._tasks.actives.values())
        while True:
            with self._lock:
                if self._processing.commit() and self._tasks.is_proven:
                    return
            if self._closing.to_commit_s(_RETRY_PAUSE_S) <= 0:
                return
            self._poll()
            self._handle_events()
