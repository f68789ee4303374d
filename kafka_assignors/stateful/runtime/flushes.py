"""Schedules store flushes.  Unflushed changes are restored from the changelog after a crash."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafka_assignors.errors import StateDamagedError
from kafka_assignors.stateful.runtime.tasks import ActiveTask

_EVERY_S = 30.0  # between two flushes of a store
_SHARE = 0.05
"""Largest share of the time spent on flushes.  A flush takes 10 to 100 ms, in which nothing is processed."""


class FlushSchedule:
    """Flushes each store every 30 s; less often if that would take over 5 % of the time.  Not thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next_at = clock()

    def flush_one(self, actives: Collection[ActiveTask]) -> list[tuple[ActiveTask, StateDamagedError]]:
        """Flush the store that was flushed longest ago, if it is due; one store a turn keeps turns short.

        Returns:
            The task and the error if its store is damaged; else an empty list.

        Raises:
            StateError: the flush failed.
        """
        now = self._clock()
        opened = [active for active in actives if active.copy is not None]
        for active in opened:
            active.flushed_at = min(active.flushed_at, now)
        if now < self._next_at or not opened:
            return []
        oldest = min(opened, key=lambda active: active.flushed_at)
        if oldest.copy is None or now - oldest.flushed_at < _EVERY_S:
            return []
        oldest.flushed_at = now
        try:
            oldest.copy.flush()
        except StateDamagedError as error:
            return [(oldest, error)]
        finally:
            end = self._clock()
            self._next_at = end + (end - now) * (1 / _SHARE - 1)
        return []
