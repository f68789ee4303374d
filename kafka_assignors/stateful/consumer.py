"""``StatefulConsumer``: a member that processes tasks with local state (KIP-441).

One thread, that of `StatefulConsumer.run`, polls, processes and commits; a second one reads changelogs.  What
is processed is made safe in this order: the application's own output (``before_commit``); changes to the
changelog, acknowledged by all replicas in sync; the store; the offsets.  So a member that is killed anywhere
has lost nothing: at the worst the next one does the records since the last commit again (at least once).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import FencedInstanceIdError, KafkaError
from kafka.structs import TopicPartition

from kafka_assignors.assignor.coordinator_access import (
    generation_of,
    is_fenced,
    is_settled,
    request_rejoin,
)
from kafka_assignors.errors import OptionError, StateClosedError
from kafka_assignors.stateful.duties import Duties, Holdings
from kafka_assignors.stateful.ending import Ending
from kafka_assignors.stateful.runtime.events import Assigned, Events, Lost, Revoked, TaskListener
from kafka_assignors.stateful.runtime.parts import made
from kafka_assignors.stateful.runtime.tasks import ActiveTask, Process, Work
from kafka_assignors.stateful.settings import RuntimeOptions
from kafka_assignors.stateful.topology import Task, Topology

__all__ = ["StatefulConsumer"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_FIRST_LOOK_S = 5.0  # for how far behind the copies on disk are, before we join
_LOOK_S = 0.1  # for the answer to a heartbeat, before a commit
_AGAIN_S = 0.5  # after an error of the cluster


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
        self._work = Work()
        self._holdings = Holdings()
        self._to_begin: set[Task] = set()
        self._closing = Ending(self._options.close_timeout_s)
        self._unused = [True]
        self._ran = False
        self._one_at_a_time = threading.RLock()
        self._events = Events()
        self._parts = parts = made(
            *(topology, store_dir, self._options, consumer_config),
            work=self._work,
            holdings=lambda: self._holdings,
            on_duties=self._events.put,
            stop=self._closing,
        )
        self._consumer, self._reader, self._lease = parts.consumer, parts.reader, parts.lease
        self._copies, self._processing = parts.copies, parts.processing
        self._listener = TaskListener(self._consumer, self._events, self._heed_events)

    # --- for the application

    def run(self) -> None:
        """Process until `close` is called, from any thread or a signal handler; then end in order.

        Raises:
            Exception: whatever ``process`` raised.  Nothing of that record is kept; what was done before it
                is committed, or, if that cannot be now, done again by the next owner.  Whatever
                ``before_commit`` raised: what was done since the last commit is done again.
            StateError: state on disk cannot be used.
            ChangelogError: a changelog refuses what is written to it.
            KafkaError: the cluster refuses us.  `FencedInstanceIdError`: another one has our
                ``group_instance_id``.
            StateClosedError: it was called before.
        """
        if self._ran:
            raise StateClosedError("this StatefulConsumer has been run, or closed: make a new one")
        self._ran = True
        if not self._is_first():
            return  # a signal came before us, and all has ended
        try:
            self._reader.look(_FIRST_LOOK_S)
            self._holdings = self._copies.holdings()
            self._consumer.subscribe(list(self._topology.topics), listener=self._listener)
            while not self._closing.is_set():
                self._turn()
            self._finish()
        except FencedInstanceIdError as error:  # whose text does not say what it means
            raise FencedInstanceIdError("another consumer has our group_instance_id and our tasks") from error
        finally:
            self._parts.end(self._one_at_a_time, self._closing)

    def close(self) -> None:
        """Ask ``run`` to end; returns at once.  From any thread, or a signal handler; twice is no matter.

        It ends within ``close_timeout_s``, after the record that ``process`` is doing.  What cannot be
        committed by then is done again by the next owner.

        One that was not run yet ends here, before this returns; ``run`` then has nothing to do.
        """
        self._closing.set()
        if self._is_first():
            self._parts.end(self._one_at_a_time, self._closing)

    def __enter__(self) -> StatefulConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()
        self._ran = True

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

    def _is_first(self) -> bool:
        """Whether nobody runs it, or has ended it, yet; once, whichever thread or signal handler asks."""
        try:
            return self._unused.pop()
        except IndexError:
            return False

    # --- one turn

    def _turn(self) -> None:
        records = self._poll()
        with self._one_at_a_time:
            self._heed_events()
            self._begin_waiting()
            self._processing.take(
                (self._work.actives.get(self._task(at)), at, batch) for at, batch in records.items()
            )
            self._processing.commit_if_due(_LOOK_S)
            for active, error in self._copies.save():
                self._processing.set_aside(active, error)
            self._restore_damaged()
            self._copies.heed()
            self._copies.retry()
            self._processing.let_flow()
            self._holdings = self._copies.holdings()
            self._probe()
            if self._is_settled():
                self._copies.clean(self._options.cleanup_delay_s)

    def _poll(self) -> Mapping[TopicPartition, list[ConsumerRecord]]:
        try:
            records: Mapping[TopicPartition, list[ConsumerRecord]] = self._consumer.poll(_POLL_MS)
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("the cluster cannot be asked: %s; trying again", error)
            time.sleep(_AGAIN_S)  # also when it is to end, and waits for the cluster to take what was done
            records = {}
        if (raised := self._listener.error) is not None:
            raise raised
        if is_fenced(self._consumer):
            raise FencedInstanceIdError
        return records

    def _restore_damaged(self) -> None:
        for active, error in self._processing.damaged():
            if self._work.actives.get(active.task) is active:
                self._copies.anew(active, error)

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
                            if self._lease.wait_until_alone():
                                self._processing.commit(self._lease.patience_s)
                        finally:
                            self._let_go(partitions)
                    case Lost(partitions):
                        self._let_go(partitions)
                    case Assigned(partitions, member_id):
                        self._begin(partitions, member_id)
                self._copies.keep()
            self._holdings = self._copies.holdings()

    def _is_settled(self) -> bool:
        """Whether no rebalance is under way: what was told for it may be counted on."""
        return is_settled(self._consumer) and (self._work.duties.generation == generation_of(self._consumer))

    def _begin(self, partitions: frozenset[TopicPartition], member_id: str) -> None:
        for at in partitions:
            task = self._task(at)
            begun = ActiveTask(task, self._process[task[0]], member_id)
            active = self._work.actives.setdefault(task, begun)
            active.partitions |= {at}
            active.flowing = False
            self._to_begin.add(task)
        self._begin_waiting()

    def _begin_waiting(self) -> None:
        """Tasks that were assigned get their state when nobody else can be writing to it."""
        if self._to_begin and self._lease.is_alone():
            tasks, self._to_begin = sorted(self._to_begin & self._work.actives.keys()), set()
            for task in tasks:
                self._copies.begin(self._work.actives[task])

    def _let_go(self, partitions: frozenset[TopicPartition]) -> None:
        """What was committed is; the rest is not ours any more."""
        self._parts.commits.forget(partitions)
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
            self._parts.assignor.say_anew()
            request_rejoin(self._consumer)

    # --- the end

    def _finish(self) -> None:
        """Make safe what was done; a join that is under way, or a broker that is away, is waited for."""
        with self._one_at_a_time:
            self._processing.stop_flow(self._work.actives.values())
        while not self._processing.commit() and self._closing.to_commit_s(_AGAIN_S) > 0:
            self._poll()
            self._heed_events()

    def _task(self, at: TopicPartition) -> Task:
        (task,) = self._topology.tasks_of([at])
        return task


def _processes(topology: Any, process: Any) -> dict[str, Process]:
    """A function for each subtopology, of what is given, which may be anything."""
    if not isinstance(topology, Topology):
        raise OptionError("topology", f"expected a Topology, got {topology!r}")
    ids = {subtopology.id for subtopology in topology.subtopologies}
    if callable(process):
        return dict.fromkeys(ids, process)
    if not isinstance(process, Mapping) or set(process) != ids or not all(map(callable, process.values())):
        raise OptionError("process", f"expected a function, or one for each of {', '.join(sorted(ids))}")
    return dict(process)
