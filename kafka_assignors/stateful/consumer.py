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
from functools import partial
from types import TracebackType
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import CommitFailedError, KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from kafka_assignors.adapter.consumer_side import request_rejoin
from kafka_assignors.errors import ChangelogError, OptionError, StateDamagedError, StateError
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.stateful.assignor import Duties, Holdings, StatefulAssignor
from kafka_assignors.stateful.changelog_reader import ChangelogReader
from kafka_assignors.stateful.changelog_topics import changelogs_of
from kafka_assignors.stateful.changelog_writer import ChangelogWriter
from kafka_assignors.stateful.checkpoint import Damaged
from kafka_assignors.stateful.copy import Copy
from kafka_assignors.stateful.events import Assigned, Events, Lost, Revoked, TaskListener
from kafka_assignors.stateful.settings import RuntimeOptions, checked_config
from kafka_assignors.stateful.state_dir import StateDir
from kafka_assignors.stateful.stores import Stores
from kafka_assignors.stateful.tasks import ActiveTask, Process, StoreFailedError, commit_tasks
from kafka_assignors.stateful.topology import Task, Topology

__all__ = ["StatefulConsumer"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_CLEAN_EVERY_S = 60.0
_FIRST_LOOK_S = 5.0  # for how far behind the copies on disk are, before we join
_AGAIN_S = 5.0  # until state that could not be used is tried again


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
        self._stores = Stores(self._options.store)
        self._state_dir = StateDir(store_dir, settings.group_id)
        self._closing = threading.Event()
        self._events = Events()
        self._duties = Duties()
        self._actives: dict[Task, ActiveTask] = {}
        self._kept: set[Task] = set()  # copies in the reader's hands
        self._waiting: dict[Task, float] = {}  # state that could not be used -> when to try again
        self._uncommitted: dict[TopicPartition, OffsetAndMetadata] = {}
        self._next_commit = self._next_clean = 0.0
        self._holdings = Holdings()
        try:
            self._changelogs = changelogs_of(
                settings.client,
                topology,
                settings.group_id,
                replication_factor=self._options.changelog_replication_factor,
            )
            self._on_disk = self._found_on_disk()
            self._writer = ChangelogWriter(settings.client)
            self._reader = ChangelogReader(
                settings.client,
                standby_bytes_per_s=self._options.standby_bytes_per_s,
                fetch_max_bytes=self._options.restore_fetch_bytes,
            )
            strategy = StatefulAssignor.configured(
                topology=topology,
                process_id=self._state_dir.process_id,
                holdings=lambda: self._holdings,
                on_duties=self._events.put,
                **self._options.planning,
            )
            self._consumer = KafkaConsumer(**config, partition_assignment_strategy=[strategy])
        except BaseException:
            self._state_dir.close()
            raise
        self._listener = TaskListener(self._consumer, self._events, self._heed_events)

    # --- for the application

    def run(self) -> None:
        """Process until `close` is called, from any thread or a signal handler; then end in order.

        Raises:
            Exception: whatever ``process`` raised; what was done before that record is safe.
            StateError: state on disk cannot be written.
        """
        self._tell_holdings()
        self._reader.look(_FIRST_LOOK_S)
        self._tell_holdings()
        self._consumer.subscribe(list(self._topology.topics), listener=self._listener)
        try:
            while not self._closing.is_set():
                self._turn()
            self._commit()
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

    @property
    def duties(self) -> Duties:
        """What this member was told to do last: its tasks, standbys and warm-ups, and who has which."""
        return self._duties

    @property
    def ready(self) -> frozenset[Task]:
        """The tasks that are processed now: those whose state is here."""
        return frozenset(task for task, active in list(self._actives.items()) if active.ready)

    @property
    def lags(self) -> Mapping[Task, int]:
        """Records that copies lack, as the group is told when this member joins."""
        return self._holdings.lags

    # --- one turn

    def _turn(self) -> None:
        records = self._consumer.poll(_POLL_MS)
        if (error := self._listener.error) is not None:
            raise error
        self._heed_events()
        for at, batch in records.items():
            self._take(at, batch)
        self._heed_reader()
        now = time.monotonic()
        if now >= self._next_commit or self._uncommitted_bytes() > self._options.max_uncommitted_bytes:
            self._next_commit = now + self._options.commit_interval_ms / 1000
            self._commit()
        if self._waiting and min(self._waiting.values()) <= now:
            self._retry(now)
        self._probe()
        self._tell_holdings()
        if now >= self._next_clean:
            self._next_clean = now + _CLEAN_EVERY_S
            self._clean()

    def _take(self, at: TopicPartition, batch: list[ConsumerRecord]) -> None:
        active = self._actives.get(self._task(at))
        if active is None:
            return  # given back meanwhile
        if not active.ready:
            self._consumer.seek(at, batch[0].offset)
            self._consumer.pause(at)
            return
        try:
            for record in batch:
                active.take(at, record)
        except StateDamagedError as error:
            self._restore_anew(active, error)
        except BaseException:
            active.undo()
            self._commit()
            raise

    # --- making it safe

    def _commit(self) -> None:
        """All that was processed; what does not work now is tried again with the next commit."""
        try:
            self._uncommitted |= commit_tasks(self._actives.values(), self._writer)
        except ChangelogError as error:
            log.warning("%s; trying again", error)
            return
        except StoreFailedError as failed:
            self._uncommitted |= failed.offsets
            self._commit_offsets()
            raise failed.reason from failed
        self._commit_offsets()

    def _commit_offsets(self) -> None:
        ours = {at for active in self._actives.values() for at in active.partitions}
        offsets = {at: offset for at, offset in self._uncommitted.items() if at in ours}
        if not offsets:
            self._uncommitted.clear()
            return
        try:
            self._consumer.commit(offsets)
            self._uncommitted.clear()
        except CommitFailedError as error:
            log.warning("the group went on without us: %s", error)
        except KafkaError as error:
            log.warning("offsets cannot be committed: %s; trying again", error)

    def _uncommitted_bytes(self) -> int:
        return sum(active.uncommitted_bytes for active in self._actives.values())

    # --- what the group decides

    def _heed_events(self) -> None:
        while (event := self._events.next()) is not None:
            match event:
                case Duties():
                    self._duties = event
                case Revoked(partitions):
                    try:
                        self._commit()
                    finally:
                        self._let_go(partitions)
                case Lost(partitions):
                    self._let_go(partitions)
                case Assigned(partitions):
                    self._begin(partitions)
            self._keep_copies()

    def _begin(self, partitions: frozenset[TopicPartition]) -> None:
        for at in partitions:
            task = self._task(at)
            active = self._actives.setdefault(task, ActiveTask(task, self._process[task[0]]))
            active.partitions |= {at}
        for task in {self._task(at) for at in partitions}:
            self._open_active(self._actives[task])

    def _open_active(self, active: ActiveTask) -> None:
        """See to it that a task has its state, and is processed then."""
        task = active.task
        if active.ready or active.copy is not None or not self._topology[task[0]].stateful:
            self._start(active, active.copy)
            return
        if task in self._kept:
            self._reader.restore(task)
            return
        if (copy := self._opened(task)) is None:
            return
        if copy.changelog is None:
            self._start(active, copy)
            return
        self._kept.add(task)
        self._reader.keep(copy, restoring=True)

    def _start(self, active: ActiveTask, copy: Copy | None) -> None:
        active.copy, active.ready = copy, True
        if there := active.partitions & self._consumer.assignment():
            self._consumer.resume(*there)

    def _let_go(self, partitions: frozenset[TopicPartition]) -> None:
        for task in {self._task(at) for at in partitions}:
            if (active := self._actives.pop(task, None)) is None:
                continue
            active.undo()  # what was committed is, the rest is not ours any more
            for at in active.partitions:
                self._uncommitted.pop(at, None)
            if active.copy is not None:
                self._pass_on(active.copy)

    def _pass_on(self, copy: Copy) -> None:
        """A task is not processed here any more: its copy stands by, or rests on the disk."""
        if copy.changelog is not None and copy.task in {*self._duties.standbys, *self._duties.warmups}:
            self._kept.add(copy.task)
            self._reader.keep(copy, restoring=False)
        else:
            self._close(copy)

    def _keep_copies(self) -> None:
        """Open what we are to keep a copy of, close what we are not any more."""
        wanted = {*self._duties.standbys, *self._duties.warmups} & self._changelogs.keys()
        for task in sorted(wanted - self._kept - self._actives.keys()):
            if task in self._waiting:
                continue
            if (copy := self._opened(task)) is not None:
                self._kept.add(task)
                self._reader.keep(copy, restoring=False)
        for task in sorted(self._kept - wanted - self._actives.keys() - set(self._duties.actives)):
            self._kept.discard(task)
            if (copy := self._reader.give_back(task)) is not None:
                self._close(copy)

    def _probe(self) -> None:
        at = self._duties.probe_at
        if at is not None and time.time() >= at:
            self._duties = Duties(
                self._duties.actives, self._duties.standbys, self._duties.warmups, None, self._duties.owners
            )
            log.info("probing rebalance: a better plan may have its copies by now")
            request_rejoin(self._consumer)

    # --- what the reader has done

    def _heed_reader(self) -> None:
        for copy in self._reader.restored():
            self._kept.discard(copy.task)
            active = self._actives.get(copy.task)
            if active is None:
                self._pass_on(copy)
            else:
                self._start(active, copy)
        for task, error in self._reader.failed():
            self._kept.discard(task)
            self._unusable(task, error)

    # --- state on disk

    def _opened(self, task: Task) -> Copy | None:
        """A task's copy; None: it cannot be used now, which was said, and is tried again later."""
        try:
            copy = Copy(task, self._changelogs.get(task), self._state_dir, self._stores)
        except StateError as error:
            self._unusable(task, error)
            return None
        self._waiting.pop(task, None)
        return copy

    def _unusable(self, task: Task, error: StateError) -> None:
        log.error("state of task %s_%d cannot be used: %s; trying again in %.0f s", *task, error, _AGAIN_S)
        self._waiting[task] = time.monotonic() + _AGAIN_S

    def _retry(self, now: float) -> None:
        due = [task for task, at in self._waiting.items() if at <= now]
        for task in due:
            del self._waiting[task]
            if (active := self._actives.get(task)) is not None:
                self._open_active(active)
        self._keep_copies()

    def _restore_anew(self, active: ActiveTask, error: StateDamagedError) -> None:
        """A store turned out to be damaged while it was used: nothing is lost that was committed."""
        log.error("state of task %s_%d is restored from the beginning: %s", *active.task, error)
        for at, offset in active.undo().items():
            self._consumer.seek(at, offset)
        self._consumer.pause(*active.partitions)
        copy, active.copy, active.ready = active.copy, None, False
        if copy is None:
            return
        try:
            copy.begin_anew()
        except StateError as worse:
            copy.drop()
            self._unusable(active.task, worse)
            return
        if copy.changelog is None:
            self._start(active, copy)
            return
        self._kept.add(active.task)
        self._reader.keep(copy, restoring=True)

    def _close(self, copy: Copy) -> None:
        self._on_disk[copy.task] = copy.position
        try:
            copy.close()
        except StateError as error:
            log.warning("state of task %s: %s", copy, error)

    def _clean(self) -> None:
        duties = {*self._duties.actives, *self._duties.standbys, *self._duties.warmups}
        try:
            for task in self._state_dir.clean(self._options.cleanup_delay_s, keep=duties):
                self._on_disk.pop(task, None)
                log.info("state of task %s_%d is deleted: it went elsewhere", *task)
        except StateError as error:
            log.warning("old state is not deleted: %s", error)

    def _found_on_disk(self) -> dict[Task, int]:
        """Task -> how far its copy on disk is, of tasks that have a changelog."""
        found = {}
        for task, known in self._state_dir.tasks().items():
            changelog = self._changelogs.get(task)
            if changelog is None or known is None or isinstance(known, Damaged):
                continue
            position = known.get(changelog.at)
            if position is not None and {position.topic_id, changelog.topic_id} <= {None, changelog.topic_id}:
                found[task] = position.offset
        return found

    def _tell_holdings(self) -> None:
        """What the group is told when this member joins next; replaced whole, as another thread reads it."""
        held = self._kept | self._actives.keys()
        self._reader.resting = {
            task: (self._changelogs[task], position)
            for task, position in self._on_disk.items()
            if task not in held and task in self._changelogs
        }
        lags = {**self._reader.lags, **dict.fromkeys(self.ready, 0)}
        self._holdings = Holdings(lags, tuple(sorted(self._kept - self._actives.keys())))

    # --- the end

    def _shut_down(self) -> None:
        """Let go of everything, in order, whatever fails on the way."""
        steps: list[Callable[[], object]] = [
            lambda: self._consumer.close(autocommit=False),
            *(active.undo for active in self._actives.values()),
            *(partial(self._close, active.copy) for active in self._actives.values() if active.copy),
            self._close_kept,
            self._writer.close,
            self._state_dir.close,
        ]
        for step in steps:
            try:
                step()
            except Exception:
                log.exception("closing a stateful consumer: a step failed")

    def _close_kept(self) -> None:
        for copy in self._reader.close():
            self._close(copy)

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
