"""How long a member has to end: one deadline for all that has to be done then."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Ending"]

_TO_COMMIT = 0.6  # of the time; the rest is for leaving the group, and closing threads and stores
_LOOK_S = 0.1


class Ending:
    """Set when the member is to end; from then on the time runs.

    No lock is in it, unlike in an ``Event``: a signal handler may set it whatever it interrupts.

    Args:
        timeout_s: for all of it.
        clock: seconds.
    """

    def __init__(self, timeout_s: float = float("inf"), clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = timeout_s
        self._clock = clock
        self._begun_at: float | None = None

    def set(self) -> None:
        """Let it begin; the first time counts."""
        if self._begun_at is None:
            self._begun_at = self._clock()

    def is_set(self) -> bool:
        """Whether it has begun."""
        return self._begun_at is not None

    def wait(self, seconds: float) -> bool:
        """Wait so long for it to begin; whether it has."""
        until = time.monotonic() + seconds
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
        return self.is_set()

    def left_s(self, most: float) -> float:
        """Seconds there are for something that would be given ``most``."""
        return self._left_s(most, self._timeout_s)

    def to_commit_s(self, most: float) -> float:
        """The same, for what makes work safe: after it there is still time to let go of all else."""
        return self._left_s(most, _TO_COMMIT * self._timeout_s)

    def _left_s(self, most: float, timeout_s: float) -> float:
        if self._begun_at is None:
            return max(0.0, most)
        return max(0.0, min(most, self._begun_at + timeout_s - self._clock()))
