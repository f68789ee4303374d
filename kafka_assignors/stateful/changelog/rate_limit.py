"""A rate limit: a bucket that fills steadily."""

from __future__ import annotations

from collections.abc import Callable


class RateLimit:
    """A limit of bytes per second (None: no limit).  The bucket holds the bytes of one second."""

    def __init__(self, per_second: int | None, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = float(per_second or 0)
        self._filled_at = clock()

    def took(self, count: int) -> None:
        """Take bytes from the bucket.  The level may fall below zero; refilling then takes longer."""
        if self._per_second is not None:
            self._left -= count

    def exhausted(self) -> bool:
        """Whether the bucket is empty."""
        if self._per_second is None:
            return False
        now = self._clock()
        self._left = min(float(self._per_second), self._left + (now - self._filled_at) * self._per_second)
        self._filled_at = now
        return self._left <= 0
