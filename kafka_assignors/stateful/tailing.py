"""What the changelog reader's thread does: brings copies up to date, and knows how far behind they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.stateful.copy import Changelog, Copy
from kafka_assignors.stateful.pace import Pace
from kafka_assignors.stateful.topology import Task

__all__ = ["Tailing"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_SAVE_EVERY_S = 30.0
_ENDS_EVERY_S = 1.0
_ALL_ENDS_EVERY_S = 10.0
_ANSWER_MS = 2_000
_AT_ONCE = 256 * 1024  # bytes applied to a store in one step, during which other threads stand still


class _Tailed:
    """A copy in this thread's hands."""

    __slots__ = ("at", "copy", "end", "goal", "saved_at")

    def __init__(self, copy: Copy, changelog: Changelog, goal: object, now: float) -> None:
        self.copy = copy
        self.at = TheirPartition(*changelog.at)
        self.goal = goal  # who waits for it; None: it stands by
        self.end: int | None = None  # of the changelog, when last looked at
        self.saved_at = now


class Tailing:
    """Copies and the consumer that reads their changelogs.  One thread.

    Args:
        consumer: without a group, and without a reset of offsets.
        pace: of what stands by.
        clock: seconds.
        on_restored: takes a copy that has arrived, and who waits for it.
        on_failed: takes the task of a copy that was given up, and why.

    Attributes:
        resting: task -> changelog and position of copies on disk that are nobody's to read; for their lags.
        changelogs: of all tasks; for their ends.
        lags: task -> records its copy lacks.
        ends: task -> where its changelog ended some seconds ago.
        applied: records applied, of all copies.
        applied_to: the same, by task.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        pace: Pace,
        clock: Callable[[], float],
        on_restored: Callable[[Copy, object], None],
        on_failed: Callable[[Task, StateError], None],
    ) -> None:
        self._consumer: Any = consumer
        self._pace = pace
        self._clock = clock
        self._on_restored = on_restored
        self._on_failed = on_failed
        self._kept: dict[Task, _Tailed] = {}
        self._at_rest: dict[Task, int] = {}
        self._ends_at = clock() - _ENDS_EVERY_S
        self._all_ends_at = clock() - _ALL_ENDS_EVERY_S
        self.resting: Mapping[Task, tuple[Changelog, int]] = {}
        self.changelogs: Mapping[Task, Changelog] = {}
        self.ends: Mapping[Task, int] = {}
        self.lags: Mapping[Task, int] = {}
        self.applied = 0
        self.applied_to: dict[Task, int] = {}

    @property
    def copies(self) -> list[Copy]:
        """Those in this thread's hands."""
        return [tailed.copy for tailed in self._kept.values()]

    def begin(self, copy: Copy, goal: object) -> None:
        """Bring a copy up to date; of one without a changelog there is nothing to read."""
        if copy.changelog is None:
            raise ValueError(f"task {copy} has no changelog")
        tailed = self._kept[copy.task] = _Tailed(copy, copy.changelog, goal, self._clock())
        self._assign()
        self._consumer.seek(tailed.at, copy.position)

    def aim(self, task: Task, goal: object) -> None:
        """Who waits for a copy from now on; None: nobody, it stands by."""
        if tailed := self._kept.get(task):
            tailed.goal, tailed.end = goal, None  # the end may have moved since it was looked at

    def take_out(self, task: Task) -> Copy | None:
        """Let go of a copy; None: it is not here."""
        if (tailed := self._kept.pop(task, None)) is None:
            return None
        self._assign()
        return tailed.copy

    def read(self) -> bool:
        """Apply what has come; whether there was anything to wait for."""
        if not self._kept:
            return False
        self._hold_back()
        for at, records in self._consumer.poll(_POLL_MS).items():
            self._apply(at, records)
        self._save_one()
        return True

    def look_at_ends(self) -> bool:
        """How far each copy is behind; what has arrived is handed out.  Whether it was looked."""
        if not any(t.end is None for t in self._kept.values()) and (
            self._clock() - self._ends_at < _ENDS_EVERY_S
        ):
            self._settle()
            return False
        self._ends_at = self._clock()
        resting = self.resting
        at_rest = {task: TheirPartition(*changelog.at) for task, (changelog, _) in resting.items()}
        asked = {*at_rest.values(), *(t.at for t in self._kept.values())}
        ends = self._consumer.end_offsets(sorted(asked), timeout_ms=_ANSWER_MS) if asked else {}
        self._at_rest = {
            task: max(0, ends[at_rest[task]] - position) for task, (_, position) in resting.items()
        }
        for tailed in self._kept.values():
            # What somebody waits for has an end that no longer moves: who wrote to it has let go.
            if tailed.end is None or tailed.goal is None:
                tailed.end = ends[tailed.at]
        self._settle()
        return True

    def look_at_all_ends(self) -> None:
        """How much there is to restore of each task, here or elsewhere.

        Raises:
            KafkaError: the cluster does not say; what was known stays.
        """
        changelogs = self.changelogs
        if not changelogs or self._clock() - self._all_ends_at < _ALL_ENDS_EVERY_S:
            return
        self._all_ends_at = self._clock()
        at = {task: TheirPartition(*changelog.at) for task, changelog in changelogs.items()}
        ends = self._consumer.end_offsets(sorted(at.values()), timeout_ms=_ANSWER_MS)
        self.ends = {task: ends[at[task]] for task in changelogs}

    def reposition(self) -> None:
        """A changelog begins later than a copy is, or ends sooner.

        Raises:
            KafkaError: the cluster does not say.
        """
        found = {tailed.at: tailed for tailed in self._kept.values()}
        begins = self._consumer.beginning_offsets(list(found), timeout_ms=_ANSWER_MS)
        ends = self._consumer.end_offsets(list(found), timeout_ms=_ANSWER_MS)
        for at, tailed in found.items():
            position = tailed.copy.position
            if position > ends[at]:
                log.error(
                    "changelog %s-%d ends at %d, before %d, where task %s is: it was cut off or made again; "
                    "the state is restored from what there is",
                    *(at.topic, at.partition, ends[at], position, tailed.copy),
                )
                self._guarded(tailed, tailed.copy.begin_anew)
                position = 0
            if position < begins[at]:
                log.error(
                    "changelog %s-%d has lost records %d to %d: task %s goes on without what was in them",
                    *(at.topic, at.partition, position, begins[at] - 1, tailed.copy),
                )
                position = begins[at]
            if tailed.copy.task in self._kept:
                self._consumer.seek(at, position)

    # --- steps

    def _assign(self) -> None:
        self._consumer.assign(sorted(tailed.at for tailed in self._kept.values()))

    def _hold_back(self) -> None:
        """What stands by waits where it has had its share."""
        exhausted = self._pace.exhausted()
        waits = {t.at for t in self._kept.values() if t.goal is None} if exhausted else set()
        paused = self._consumer.paused()
        if begin := waits - paused:
            self._consumer.pause(*begin)
        if end := paused - waits:
            self._consumer.resume(*end)

    def _apply(self, at: TheirPartition, records: Iterable[Any]) -> None:
        tailed = next((one for one in self._kept.values() if one.at == at), None)
        for some, size in _portions(records):
            if tailed is None or self._kept.get(tailed.copy.task) is not tailed:
                return
            if tailed.goal is None:
                self._pace.took(size)
            changes = [(record.key, record.value) for record in some if record.key]
            before = tailed.copy.store
            self._guarded(tailed, partial(tailed.copy.apply, changes, some[-1].offset + 1))
            if tailed.copy.store is not before:
                return  # it begins anew, from the beginning
            self.applied += len(changes)
            task = tailed.copy.task
            self.applied_to[task] = self.applied_to.get(task, 0) + len(changes)

    def _settle(self) -> None:
        """Note how far each copy is; hand out what has arrived."""
        lags = {task: lag for task, lag in self._at_rest.items() if task in self.resting}
        for task, tailed in list(self._kept.items()):
            if tailed.end is None:
                continue
            # Records may be gone by compaction: the consumer is past them, the last one applied is not.
            position = max(
                tailed.copy.position, self._consumer.position(tailed.at, timeout_ms=_ANSWER_MS) or 0
            )
            lags[task] = max(0, tailed.end - position)
            if tailed.goal is not None and lags[task] == 0:
                self._arrived(tailed, tailed.end)
        self.lags = lags

    def _arrived(self, tailed: _Tailed, end: int) -> None:
        before = tailed.copy.store
        if end > tailed.copy.position:
            self._guarded(tailed, lambda: tailed.copy.apply((), end))
        if self._kept.get(tailed.copy.task) is tailed and tailed.copy.store is before:
            self.take_out(tailed.copy.task)
            self._on_restored(tailed.copy, tailed.goal)

    def _save_one(self) -> None:
        now = self._clock()
        for tailed in self._kept.values():
            if now - tailed.saved_at >= _SAVE_EVERY_S:
                tailed.saved_at = now
                self._guarded(tailed, tailed.copy.save)
                return

    def _guarded(self, tailed: _Tailed, do: Callable[[], None]) -> None:
        """What is wrong with one copy's disk is that copy's fault alone."""
        try:
            do()
        except StateDamagedError as error:
            log.warning("state of task %s is restored from the beginning: %s", tailed.copy, error)
            try:
                tailed.copy.begin_anew()
                self._consumer.seek(tailed.at, 0)
            except StateError as worse:
                self._give_up(tailed, worse)
        except StateError as error:
            self._give_up(tailed, error)

    def _give_up(self, tailed: _Tailed, error: StateError) -> None:
        self.take_out(tailed.copy.task)
        tailed.copy.drop()
        self._on_failed(tailed.copy.task, error)


def _portions(records: Iterable[Any]) -> Iterator[tuple[list[Any], int]]:
    """Records, some hundred kilobytes at a time, and how many bytes that is."""
    some: list[Any] = []
    size = 0
    for record in records:
        some.append(record)
        size += max(0, record.serialized_value_size) + max(0, record.serialized_key_size)
        if size >= _AT_ONCE:
            yield some, size
            some, size = [], 0
    if some:
        yield some, size
