"""What the changelog reader's thread does: brings copies up to date, and knows how far behind they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition
from kafka.errors import LogTruncationError

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.stateful.changelog.ends import Ends
from kafka_assignors.stateful.changelog.pace import Pace
from kafka_assignors.stateful.changelog.progress import Progress
from kafka_assignors.stateful.changelog.tailed import Tailed, portions
from kafka_assignors.stateful.state.copy import Copy
from kafka_assignors.stateful.state.on_disk import Resting
from kafka_assignors.stateful.topology import Task

__all__ = ["Tailing"]

log = logging.getLogger("kafka_assignors")

_POLL_MS = 100
_SAVE_EVERY_S = 30.0
_ENDS_EVERY_S = 1.0
_SETTLE_EVERY_S = 0.1
_POSITIONS = 10  # asked for at once: kafka-python walks over all partitions for each


class Tailing:
    """Copies and the consumer that reads their changelogs.  One thread.

    Args:
        consumer: without a group, and without a reset of offsets.
        ends: of changelogs, asked of that consumer.
        pace: of what stands by.
        clock: seconds.
        on_restored: takes a copy that has arrived, and who waits for it.
        on_failed: takes the task of a copy that was given up, and why.

    Attributes:
        resting: copies on disk that are nobody's to read; for their lags.
        lags: task -> records its copy lacks.
        applied: records applied, of all copies.
        applied_to: the same, by task.
    """

    def __init__(
        self,
        consumer: KafkaConsumer,
        ends: Ends,
        pace: Pace,
        clock: Callable[[], float],
        *,
        on_restored: Callable[[Copy, object], None],
        on_failed: Callable[[Task, StateError], None],
    ) -> None:
        self._consumer: Any = consumer
        self._ends = ends
        self._pace = pace
        self._clock = clock
        self._on_restored = on_restored
        self._on_failed = on_failed
        self._kept: dict[Task, Tailed] = {}
        self._at_rest: dict[Task, int] = {}
        self._ends_at = clock() - _ENDS_EVERY_S
        self._settled_at = clock() - _SETTLE_EVERY_S
        self.resting: Mapping[Task, Resting] = {}
        self.lags: Mapping[Task, int] = {}
        self.applied = 0
        self.applied_to: dict[Task, int] = {}
        self._progress = Progress(self.applied_to, clock)

    @property
    def copies(self) -> list[Copy]:
        """Those in this thread's hands."""
        return [tailed.copy for tailed in self._kept.values()]

    def begin(self, copy: Copy, goal: object) -> None:
        """Bring a copy up to date; of one without a changelog there is nothing to read."""
        if copy.changelog is None:
            raise ValueError(f"task {copy} has no changelog")
        lag = self.lags.get(copy.task) if copy.position else None  # as it was on disk
        tailed = self._kept[copy.task] = Tailed(copy, copy.changelog, goal, lag, self._clock())
        self._follow(tailed, stood_by=False)
        self._assign()
        self._seek(tailed, copy.position)

    def aim(self, task: Task, goal: object) -> None:
        """Who waits for a copy from now on; None: nobody, it stands by."""
        if tailed := self._kept.get(task):
            tailed.goal, tailed.end = goal, None  # the end may have moved since it was looked at
            self._follow(tailed, stood_by=True)

    def take_out(self, task: Task) -> Copy | None:
        """Let go of a copy; None: it is not here."""
        if (tailed := self._kept.pop(task, None)) is None:
            return None
        self._progress.end(task)
        self._assign()
        return tailed.copy

    def read(self) -> bool:
        """Apply what has come; whether there was anything to wait for.

        Raises:
            KafkaError: the cluster does not say.
            Exception: what went wrong with a copy; the others have what came for them, and this one is read
                again from where it is.
        """
        if not self._kept:
            return False
        self._hold_back()
        failed: Exception | None = None
        found = {tailed.at: tailed for tailed in self._kept.values()}
        for at, records in self._consumer.poll(_POLL_MS).items():
            if (tailed := found.get(at)) is None:
                continue
            try:
                self._apply(tailed, records)
            except Exception as error:  # whatever it is: the consumer is past records that are not applied
                failed = error
                if self._kept.get(tailed.copy.task) is tailed:
                    self._seek(tailed, tailed.copy.position)
        if failed is not None:
            raise failed
        self._save_one()
        return True

    def look_at_ends(self) -> bool:
        """How far each copy is behind; what has arrived is handed out.  Whether it was looked."""
        looked = self._clock() - self._ends_at >= _ENDS_EVERY_S or any(
            tailed.end is None and not self._ends.are_silent(tailed.at) for tailed in self._kept.values()
        )
        if looked:
            self._ends_at = self._clock()
            self._look()
        waited_for = any(tailed.goal is not None for tailed in self._kept.values())
        if looked or (waited_for and self._clock() - self._settled_at >= _SETTLE_EVERY_S):
            self._settle()
        return looked

    def reposition(self) -> None:
        """A changelog begins later than a copy is, or ends sooner."""
        found = {tailed.at: tailed for tailed in self._kept.values()}
        begins, ends = self._ends.first(found), self._ends.last(found)
        for at in begins.keys() & ends.keys():
            tailed = found[at]
            position = tailed.copy.position
            if position > ends[at]:
                self._restart_after_loss(tailed, ends[at])
                position = 0
            if position < begins[at]:
                log.error(
                    "changelog %s-%d has lost records %d to %d: task %s goes on without what was in them",
                    *(at.topic, at.partition, position, begins[at] - 1, tailed.copy),
                )
                position = begins[at]
            if tailed.copy.task in self._kept:
                self._seek(tailed, position)

    def cut_off(self, error: LogTruncationError) -> None:
        """A leader that lacked records was elected: what was written after that is not what copies have."""
        for at, upto in error.divergent_offsets.items():
            tailed = next((one for one in self._kept.values() if one.at == at), None)
            if tailed is None:
                continue
            position = tailed.copy.position
            if upto is None or upto.offset < position:
                why = "it was made again, or a broker that lacked some of it leads"
                self._restart(tailed, f"is another one before {position}, where it is: {why}")
            if tailed.copy.task in self._kept:
                self._seek(tailed, tailed.copy.position)

    # --- steps

    def _follow(self, tailed: Tailed, *, stood_by: bool) -> None:
        if tailed.goal is None:
            self._progress.end(tailed.copy.task)
        else:
            self._progress.begin(tailed.copy, stood_by=stood_by)

    def _assign(self) -> None:
        self._consumer.assign(sorted(tailed.at for tailed in self._kept.values()))

    def _seek(self, tailed: Tailed, offset: int) -> None:
        tailed.passed = 0
        self._consumer.seek(tailed.at, offset)

    def _hold_back(self) -> None:
        """What stands by waits where it has had its share, and while a task waits for its state."""
        waits = set()
        if self._pace.exhausted() or any(
            # One that cannot be read now is not brought up to date any sooner by that.
            tailed.goal is not None and not self._ends.are_silent(tailed.at)
            for tailed in self._kept.values()
        ):
            waits = {tailed.at for tailed in self._kept.values() if tailed.goal is None}
        paused = self._consumer.paused()
        if begin := waits - paused:
            self._consumer.pause(*begin)
        if end := paused - waits:
            self._consumer.resume(*end)

    def _apply(self, tailed: Tailed, records: Iterable[Any]) -> None:
        tailed.heard = True
        for some, size in portions(records):
            if self._kept.get(tailed.copy.task) is not tailed:
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

    def _look(self) -> None:
        resting = self.resting
        at = {task: TheirPartition(*one.changelog.at) for task, one in resting.items()}
        ends = self._ends.last({*at.values(), *(tailed.at for tailed in self._kept.values())})
        known = {task: lag for task, lag in self._at_rest.items() if task in resting}
        self._at_rest = known | {
            task: _lag(one, ends[at[task]]) for task, one in resting.items() if at[task] in ends
        }
        for tailed in list(self._kept.values()):
            if (end := ends.get(tailed.at)) is None:
                continue
            if end < tailed.copy.position:
                self._restart_after_loss(tailed, end)
            # What somebody waits for has an end that moves no further, as who wrote to it has let go; but
            # records can be lost.
            if tailed.end is None or tailed.goal is None or end < tailed.end:
                tailed.end = end
                self._use_or_restart(tailed, end)

    def _restart_after_loss(self, tailed: Tailed, end: int) -> None:
        ends_at = f"ends at {end}, before {tailed.copy.position}, where it is"
        self._restart(tailed, f"{ends_at}: it was cut off or made again")
        if tailed.copy.task in self._kept:
            self._seek(tailed, 0)

    def _use_or_restart(self, tailed: Tailed, end: int) -> None:
        if tailed.copy.stale and end > tailed.began:
            self._restart(tailed, "may have forgotten what was deleted since the copy here was last in use")
            if tailed.copy.task in self._kept:
                self._seek(tailed, 0)
        tailed.copy.stale = False

    def _settle(self) -> None:
        """Note how far each copy is; hand out what has arrived."""
        self._settled_at = self._clock()
        self._look_at_positions()
        lags = {task: lag for task, lag in self._at_rest.items() if task in self.resting}
        for task, tailed in list(self._kept.items()):
            if tailed.end is not None:
                tailed.lag = max(0, tailed.end - tailed.position)
                self._progress.lacks(tailed, tailed.lag)
                if tailed.goal is not None and tailed.lag == 0:
                    self._arrived(tailed, tailed.end)
            if tailed.lag is not None:
                lags[task] = tailed.lag
        self.lags = lags
        self._progress.write()

    def _look_at_positions(self) -> None:
        """Of some copies that lack records, and first of those for which none came: they may be gone."""
        behind = [t for t in self._kept.values() if t.end is not None and t.position < t.end]
        for tailed in sorted(behind, key=lambda t: (t.heard, t.asked_at))[:_POSITIONS]:
            tailed.asked_at = self._clock()
            # It is known or not: with time to find out it would wait for partitions without a leader.
            tailed.passed = self._consumer.position(tailed.at, timeout_ms=0) or 0
        for tailed in self._kept.values():
            tailed.heard = False

    def _arrived(self, tailed: Tailed, end: int) -> None:
        before = tailed.copy.store
        if end > tailed.copy.position:
            self._guarded(tailed, lambda: tailed.copy.apply((), end))
        if self._kept.get(tailed.copy.task) is tailed and tailed.copy.store is before:
            self._progress.arrived(tailed)
            self.take_out(tailed.copy.task)
            self._on_restored(tailed.copy, tailed.goal)

    def _save_one(self) -> None:
        now = self._clock()
        for tailed in self._kept.values():
            if now - tailed.saved_at >= _SAVE_EVERY_S:
                tailed.saved_at = now
                self._guarded(tailed, partial(_save, tailed))
                return

    def _guarded(self, tailed: Tailed, do: Callable[[], None]) -> None:
        """What is wrong with one copy's disk is that copy's fault alone."""
        try:
            do()
        except StateDamagedError as error:
            log.warning("state of task %s is restored from the beginning: %s", tailed.copy, error)
            try:
                self._forget(tailed)
                tailed.copy.wipe_damaged(error)
                self._seek(tailed, 0)
            except StateError as worse:
                self._give_up(tailed, worse)
        except StateError as error:
            self._give_up(tailed, error)

    def _restart(self, tailed: Tailed, why: str) -> None:
        log.error(
            "state of task %s is restored from the beginning: changelog %s-%d %s",
            *(tailed.copy, tailed.at.topic, tailed.at.partition, why),
        )
        self._forget(tailed)
        self._guarded(tailed, tailed.copy.begin_anew)

    def _forget(self, tailed: Tailed) -> None:
        self._forget_lag(tailed)
        self._progress.again(tailed.copy.task)
        tailed.end = None  # to be looked at again, as it may be another changelog

    def _give_up(self, tailed: Tailed, error: StateError) -> None:
        self._forget_lag(tailed)
        self.take_out(tailed.copy.task)
        tailed.copy.drop()
        self._on_failed(tailed.copy.task, error)

    def _forget_lag(self, tailed: Tailed) -> None:
        """At once: others may be told of it before it is looked at again."""
        tailed.lag = None
        self.lags = {task: lag for task, lag in self.lags.items() if task != tailed.copy.task}


def _save(tailed: Tailed) -> None:
    tailed.copy.save()
    if tailed.goal is None:  # standing by is of use, too
        tailed.copy.in_doubt = False


def _lag(resting: Resting, end: int) -> int:
    """Records that a copy on disk lacks; of one that would be begun anew all there are."""
    lag = end - resting.position
    return end if lag < 0 or (resting.stale and lag) else lag
