"""When which active task's store is brought to disk: what is not is read again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_assignors.errors import StateDamagedError
from kafka_assignors.stateful.runtime.tasks import ActiveTask
from kafka_assignors.stateful.topology import Task

__all__ = ["Saves"]

_EVERY_S = 30.0
_SHARE = 0.05
"""Of the time: a flush and two fsyncs take some 10 ms, or 100, in which nothing is processed."""


class Saves:
    """Each store every half a minute; of many, on a slow disk, as often as its share of the time allows.

    One thread at a time.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._saved_at: dict[Task, float] = {}
        self._next_at = clock()

    def forget(self, task: Task) -> None:
        """It is not active any more."""
        self._saved_at.pop(task, None)

    def save_one(self, actives: Collection[ActiveTask]) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Save the one that waits for it longest, if that is long enough: so no turn takes as long as all.

        Returns:
            The task whose store turned out to be damaged, and how, if so.

        Raises:
            StateError: it cannot be.
        """
        now = self._clock()
        waits = [
            (self._saved_at.setdefault(active.task, now), active)
            for active in actives
            if active.copy is not None
        ]
        if now < self._next_at or not waits:
            return []
        since, active = min(waits, key=lambda one: one[0])
        if active.copy is None or now - since < _EVERY_S:
            return []
        self._saved_at[active.task] = now
        try:
            active.copy.save()
        except StateDamagedError as error:
            return [(active, error)]
        finally:
            end = self._clock()
            self._next_at = end + (end - now) * (1 / _SHARE - 1)
        return []
