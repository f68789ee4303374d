"""Gives assigned tasks their state, and takes it from revoked tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka.structs import TopicPartition

from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.runtime.commits import Commits
from kafka_assignors.stateful.runtime.copies import OpenCopies
from kafka_assignors.stateful.runtime.lease import Lease
from kafka_assignors.stateful.runtime.processing import Processing
from kafka_assignors.stateful.runtime.tasks import ActiveTask, MemberTasks, Process
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.validators import function, instance
from kafka_assignors.wire.stateful.task_section import Task


class TaskOwnership:
    """Begins and ends the active tasks of a member.  Not thread-safe: the caller holds the member's lock."""

    def __init__(
        self,
        topology: Topology,
        functions: Mapping[str, Process],
        tasks: MemberTasks,
        *,
        consumer: Any,
        lease: Lease,
        commits: Commits,
        copies: OpenCopies,
        processing: Processing,
    ) -> None:
        self._topology = topology
        self._functions = functions
        self._tasks = tasks
        self._consumer = consumer
        self._lease = lease
        self._commits = commits
        self._copies = copies
        self._processing = processing
        self._to_begin: set[Task] = set()

    def begin(self, partitions: frozenset[TopicPartition], member_id: str) -> None:
        """Add assigned partitions to their tasks; new tasks commit as ``member_id``."""
        for partition in partitions:
            task = self.task_of(partition)
            new_task = ActiveTask(task, self._functions[task[0]], member_id)
            active = self._tasks.actives.setdefault(task, new_task)
            active.partitions |= {partition}
            active.flowing = False
            self._to_begin.add(task)
        self.begin_when_alone()

    def begin_when_alone(self) -> None:
        """Give assigned tasks their state, once no earlier process with our instance id may write."""
        if self._to_begin and self._lease.is_alone():
            tasks, self._to_begin = sorted(self._to_begin & self._tasks.actives.keys()), set()
            for task in tasks:
                self._copies.begin(self._tasks.actives[task])

    def release(self, partitions: Collection[TopicPartition]) -> None:
        """Release revoked or lost partitions.

        The uncommitted work of their tasks is dropped, so partitions that these tasks keep are read again.
        """
        self._commits.forget(partitions)
        for task in sorted(
            {self.task_of(partition) for partition in partitions} & self._tasks.actives.keys()
        ):
            active = self._tasks.actives[task]
            rewind_offsets = active.undo()
            active.partitions -= frozenset(partitions)
            if not active.partitions:
                del self._tasks.actives[task]
                self._copies.end(active)
                continue
            for partition in rewind_offsets.keys() & active.partitions:
                self._consumer.seek(partition, rewind_offsets[partition])
        self._processing.allow()

    def task_of(self, partition: TopicPartition) -> Task:
        """Return the task of a source partition."""
        (task,) = self._topology.tasks_of([partition])
        return task


def process_functions(topology: Any, process: Any) -> dict[str, Process]:
    """Check ``process`` and return the function of each subtopology.

    Raises:
        OptionError: ``topology`` is no `Topology`, or ``process`` is neither a function nor a mapping with a
            function for each subtopology.  A function with ``async`` or ``yield`` would process no record.
    """
    instance("topology", topology, Topology, "a Topology")
    ids = {subtopology.id for subtopology in topology.subtopologies}
    given = dict.fromkeys(ids, process) if callable(process) else process
    if not isinstance(given, Mapping) or set(given) != ids or not all(map(callable, given.values())):
        raise OptionError("process", f"expected a function, or one for each of {', '.join(sorted(ids))}")
    for of_subtopology in given.values():
        function("process", of_subtopology)
    return dict(given)
