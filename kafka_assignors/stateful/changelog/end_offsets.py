"""First and end offsets of changelogs, also while some of them do not answer.

kafka-python answers for all partitions or for none: it raises `KeyError` if one partition has no leader, and
times out if a topic is gone.  So each topic is asked for in a request of its own, and after a ``KeyError``
again without the partitions that have no leader.  If one partition times out, all partitions of its topic are
skipped for some seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError

from kafka_assignors.assignor.coordinator_access.consumer import without_leader
from kafka_assignors.plan.model import listed
from kafka_assignors.stateful.state.copy import Changelog
from kafka_assignors.wire.stateful.task_section import Task

log = logging.getLogger("kafka_assignors")

_RESPONSE_MS = 2_000  # timeout of a request
_ALL_EVERY_S = 10.0  # between two requests for the offsets of all changelogs
_AGAIN_S = 5.0  # pause before a silent topic is asked for again; each timeout delays all other requests


class EndOffsets:
    """Asks the cluster for offsets.  Used by one thread."""

    def __init__(
        self,
        consumer: KafkaConsumer,
        clock: Callable[[], float],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._consumer: Any = consumer
        self._clock = clock
        self._stop = stop
        self._silent: dict[KafkaPartition, float] = {}  # partition without a response -> when to ask again

    def first(self, partitions: Collection[KafkaPartition]) -> dict[KafkaPartition, int]:
        """Return the first offset of each partition that answers.

        Cost: a request to each leader for each topic.  A topic that does not answer takes 2 s, and is skipped
        for the next 5 s.
        """
        return self._ask_topics(self._consumer.beginning_offsets, partitions)

    def last(self, partitions: Collection[KafkaPartition]) -> dict[KafkaPartition, int]:
        """Return the end offset of each partition that answers.  Cost: as `first`."""
        return self._ask_topics(self._consumer.end_offsets, partitions)

    def is_silent(self, partition: KafkaPartition) -> bool:
        """Whether a partition did not answer and is skipped for now."""
        return self._silent.get(partition, float("-inf")) > self._clock()

    def _ask_topics(
        self, ask: Callable[..., dict[KafkaPartition, int]], partitions: Iterable[KafkaPartition]
    ) -> dict[KafkaPartition, int]:
        topics: dict[str, list[KafkaPartition]] = {}
        for partition in sorted(partitions):
            if not self.is_silent(partition):
                topics.setdefault(partition.topic, []).append(partition)
        offsets: dict[KafkaPartition, int] = {}
        for topic_partitions in topics.values():
            offsets |= self._ask_topic(ask, topic_partitions)
            if self._stop():
                break
        return offsets

    def _ask_topic(
        self, ask: Callable[..., dict[KafkaPartition, int]], partitions: list[KafkaPartition]
    ) -> dict[KafkaPartition, int]:
        while partitions:
            try:
                offsets = ask(partitions, timeout_ms=_RESPONSE_MS)
            except KeyError as error:  # noqa: PERF203  # each turn is a request, beside which a try costs nothing
                missing = set(partitions).intersection(error.args)
                if not missing:
                    raise
                missing |= without_leader(self._consumer, partitions)  # the error names only one
                self._skip(sorted(missing), "no leader")
                partitions = [partition for partition in partitions if partition not in missing]
            except KafkaError as error:
                self._skip(partitions, str(error))
                return {}
            else:
                for partition in partitions:
                    self._silent.pop(partition, None)
                return offsets
        return {}

    def _skip(self, partitions: Collection[KafkaPartition], why: str) -> None:
        if new := [partition for partition in partitions if partition not in self._silent]:
            names = listed(new, name=lambda partition: "{}-{}".format(*partition))
            log.warning("changelog %s: no offset (%s); skipped for %.0f s", names, why, _AGAIN_S)
        self._silent.update(dict.fromkeys(partitions, self._clock() + _AGAIN_S))


class TaskEndOffsets:
    """The end offset of each task's changelog, also of tasks without a copy here.  One thread calls `update`.

    Attributes:
        changelogs: of all tasks; any thread may replace the mapping.
        known: task -> end offset of its changelog, from the last request that got an answer.
    """

    def __init__(self, ends: EndOffsets, clock: Callable[[], float]) -> None:
        self._ends = ends
        self._clock = clock
        self._next_at = clock()
        self.changelogs: Mapping[Task, Changelog] = {}
        self.known: Mapping[Task, int] = {}

    def update(self) -> None:
        """Ask for all end offsets every 10 s; a task keeps its old one if its changelog does not answer."""
        changelogs = self.changelogs
        if not changelogs or self._clock() < self._next_at:
            return
        self._next_at = self._clock() + _ALL_EVERY_S
        partitions = {task: KafkaPartition(*changelog.partition) for task, changelog in changelogs.items()}
        ends = self._ends.last(partitions.values())
        known = {task: end for task, end in self.known.items() if task in changelogs}
        self.known = known | {
            task: ends[partition] for task, partition in partitions.items() if partition in ends
        }
