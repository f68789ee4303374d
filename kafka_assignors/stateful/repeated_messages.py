"""Keeps a member from logging the same message again and again."""

from __future__ import annotations

from collections.abc import Callable

_AGAIN_S = 300.0  # until the same message is logged again; a member retries every 5 s


class RepeatedMessages:
    """Decides when a message about a subject, such as a task, is logged.  Not thread-safe.

    ``clock``: seconds, as ``time.monotonic``.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged: dict[object, tuple[str, float]] = {}  # subject -> its last message, and when

    def is_due(self, subject: object, message: str) -> bool:
        """Whether to log a message now: it is another one than the last, or that is five minutes old."""
        last, logged_at = self._logged.get(subject, (None, 0.0))
        now = self._clock()
        if message == last and now < logged_at + _AGAIN_S:
            return False
        self._logged[subject] = message, now
        return True

    def forget(self, subject: object) -> None:
        """Let the next message about a subject be logged."""
        self._logged.pop(subject, None)
