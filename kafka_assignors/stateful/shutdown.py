"""The deadline of a closing member, shared by all steps of the shutdown."""

from __future__ import annotations

import time
from collections.abc import Callable

_TO_COMMIT = 0.6  # part of the time for commits; the rest is for leaving the group and closing stores


class Shutdown:
    """Starts the clock when the member is asked to close.

    Unlike a ``threading.Event`` it has no lock, because a signal handler may call ``set`` at any point.

    Args:
        timeout_s: seconds that the shutdown may take.
        clock: seconds, as ``time.monotonic``.
    """

    def __init__(self, timeout_s: float = float("inf"), clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = timeout_s
        self._clock = clock
        self._begun_at: float | None = None

    def set(self) -> None:
        """Start the shutdown; later calls change nothing."""
        if self._begun_at is None:
            self._begun_at = self._clock()

    def is_set(self) -> bool:
        """Whether the shutdown has started."""
        return self._begun_at is not None

    def left_s(self, most: float) -> float:
        """Return the seconds left for a step that may take ``most`` seconds."""
        return self._left_s(most, self._timeout_s)

    def to_commit_s(self, most: float) -> float:
        """As `left_s`, for a commit; keeps time for the other steps of the shutdown."""
        return self._left_s(most, _TO_COMMIT * self._timeout_s)

    def _left_s(self, most: float, timeout_s: float) -> float:
        if self._begun_at is None:
            return max(0.0, most)
        return max(0.0, min(most, self._begun_at + timeout_s - self._clock()))
