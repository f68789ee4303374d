"""Where changelogs begin and end, of those that can be asked now; one that cannot holds up no other.

kafka-python answers for all partitions or for none: it raises `KeyError` where one has no leader, and runs
into its timeout where a topic is gone.  So each topic is asked for by itself, without the partitions that
have no leader, and what did not answer is left alone for some seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition
from kafka.errors import KafkaError

from kafka_assignors.stateful.state.copy import Changelog
from kafka_assignors.stateful.topology import Task

__all__ = ["AllEnds", "Ends"]

log = logging.getLogger("kafka_assignors")

_ANSWER_MS = 2_000
_ALL_EVERY_S = 10.0
_AGAIN_S = 5.0  # until one that did not answer is asked again: waiting for it holds up all the others


class Ends:
    """Asks a consumer.  One thread.

    Args:
        consumer: what is asked.
        clock: seconds.
        stop: whether no more topics than the next are to be asked at a time.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        clock: Callable[[], float],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._consumer: Any = consumer
        self._clock = clock
        self._stop = stop
        self._silent: dict[TheirPartition, float] = {}  # did not answer -> when to ask again

    def first(self, partitions: Collection[TheirPartition]) -> dict[TheirPartition, int]:
        """The first offset that is there, of those that can be asked now.

        Cost: a request to each leader for each topic; 2 s for a topic that does not answer, 5 s apart.
        """
        return self._asked(self._consumer.beginning_offsets, partitions)

    def last(self, partitions: Collection[TheirPartition]) -> dict[TheirPartition, int]:
        """The offset that comes next, of those that can be asked now.  Cost: as `first`."""
        return self._asked(self._consumer.end_offsets, partitions)

    def are_silent(self, at: TheirPartition) -> bool:
        """Whether one did not answer, and is not to be asked again yet."""
        return self._silent.get(at, float("-inf")) > self._clock()

    def _asked(
        self, ask: Callable[..., dict[TheirPartition, int]], partitions: Iterable[TheirPartition]
    ) -> dict[TheirPartition, int]:
        topics: dict[str, list[TheirPartition]] = {}
        for at in sorted(partitions):
            if not self.are_silent(at):
                topics.setdefault(at.topic, []).append(at)
        found: dict[TheirPartition, int] = {}
        for some in topics.values():
            found |= self._of_one_topic(ask, some)
            if self._stop():
                break
        return found

    def _of_one_topic(
        self, ask: Callable[..., dict[TheirPartition, int]], some: list[TheirPartition]
    ) -> dict[TheirPartition, int]:
        while some:
            found, missing = self._answer(ask, some)
            if not missing:
                return found
            some = [at for at in some if at not in missing]
        return {}

    def _answer(
        self, ask: Callable[..., dict[TheirPartition, int]], some: list[TheirPartition]
    ) -> tuple[dict[TheirPartition, int], set[TheirPartition]]:
        """What was answered, or who cannot."""
        try:
            found = ask(some, timeout_ms=_ANSWER_MS)
        except KeyError as error:
            missing = set(some).intersection(error.args)
            if not missing:
                raise
            self._leave_alone(missing, "it has no leader")
            return {}, missing
        except KafkaError as error:
            self._leave_alone(some, str(error))
            return {}, set(some)
        for at in some:
            self._silent.pop(at, None)
        return found, set()

    def _leave_alone(self, some: Collection[TheirPartition], why: str) -> None:
        if new := [at for at in some if at not in self._silent]:
            names = ", ".join(f"{at.topic}-{at.partition}" for at in new)
            log.warning("cannot see where changelog %s ends: %s; trying again", names, why)
        self._silent.update(dict.fromkeys(some, self._clock() + _AGAIN_S))


class AllEnds:
    """How much there is to restore of each task, wherever that is.  One thread looks.

    Args:
        ends: what is asked.
        clock: seconds.

    Attributes:
        changelogs: of all tasks; replaced whole, by any thread.
        known: task -> where its changelog ended some seconds ago.
    """

    def __init__(self, ends: Ends, clock: Callable[[], float]) -> None:
        self._ends = ends
        self._clock = clock
        self._next_at = clock()
        self.changelogs: Mapping[Task, Changelog] = {}
        self.known: Mapping[Task, int] = {}

    def look(self) -> None:
        """Look now and then; of one that does not answer, what was known stays."""
        changelogs = self.changelogs
        if not changelogs or self._clock() < self._next_at:
            return
        self._next_at = self._clock() + _ALL_EVERY_S
        at = {task: TheirPartition(*changelog.at) for task, changelog in changelogs.items()}
        ends = self._ends.last(at.values())
        known = {task: end for task, end in self.known.items() if task in changelogs}
        self.known = known | {task: ends[one] for task, one in at.items() if one in ends}
