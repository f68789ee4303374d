"""How much may be read in how long a time: a bucket that fills steadily."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """Bytes a second, of which one second's worth may be taken at once.

    Args:
        per_second: None: as many as there are.
        clock: seconds.
    """

    def __init__(self, per_second: int | None, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = float(per_second or 0)
        self._at = clock()

    def took(self, count: int) -> None:
        """Note that so many were taken; it may be more than there were, then others wait for longer."""
        if self._per_second is not None:
            self._left -= count

    def exhausted(self) -> bool:
        """Whether to wait before more is taken."""
        if self._per_second is None:
            return False
        now = self._clock()
        self._left = min(float(self._per_second), self._left + (now - self._at) * self._per_second)
        self._at = now
        return self._left <= 0
