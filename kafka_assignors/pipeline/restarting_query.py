"""A stream that is started again when it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.pipeline.faults import pipeline_error

__all__ = ["Kept"]

log = logging.getLogger(__name__)

_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0


class Kept:
    """Keeps a stream going that has worked once: whatever stops it is taken for a fault that passes.

    Args:
        name: for the log.
        start: starts it, from its checkpoint; what it returns has ``query``, ``report()`` and ``stop()``,
            which ends it and returns the report.
        now: seconds, as ``time.monotonic``.
        before: a report of what was done already, to count on from.
        has_worked: tells of its report whether it has worked; None: it has, once it was started.

    Raises:
        KafkaAssignorsError: it does not start; this first time that is an error.

    Attributes:
        down: why it does not run at present; None: it does.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Any],
        now: Callable[[], float] = time.monotonic,
        *,
        before: Any = None,
        has_worked: Callable[[Any], bool] | None = None,
    ) -> None:
        self._name = name
        self._start = start
        self._now = now
        self._has_worked = has_worked
        self._done: list[Any] = [] if before is None else [before]  # and of those that failed
        self._pause_s = _FIRST_PAUSE_S
        self._again_at = 0.0
        self.down: KafkaAssignorsError | None = None
        self._running: Any = start()
        self._since = now()

    def keep(self) -> None:
        """See that it runs; to be called from time to time.

        Raises:
            PipelineError: it failed, and never worked.
        """
        if self._running is not None:
            if self._running.query.isActive:
                return
            self._ended()
        if self._now() < self._again_at:
            return
        try:
            self._running = self._start()
        except KafkaAssignorsError as error:
            self._failed(error)
        except Exception as error:  # whatever it is, the others go on, and it may pass
            self._failed(pipeline_error(error, "it does not start"))
        else:
            log.info("%s: started again", self._name)
            self.down = None
            self._since = self._now()

    def report(self) -> Any:
        """All it did until now."""
        running = [] if self._running is None else [self._running.report()]
        first, *rest = [*self._done, *running]
        for one in rest:
            first = first + one
        return first

    def stop(self) -> Any:
        """End it; returns all it did."""
        if self._running is not None:
            self._done.append(self._running.stop())
            self._running = None
        return self.report()

    def _ended(self) -> None:
        cause = self._running.query.exception()
        error = PipelineError("it ended by itself") if cause is None else pipeline_error(cause, "it ended")
        self._done.append(self._running.stop())
        self._running = None
        if self._has_worked is not None and not self._has_worked(self.report()):
            raise pipeline_error(cause, self._name) if cause is not None else error
        if self._now() - self._since > _LONGEST_PAUSE_S:  # this is another fault than the one before
            self._pause_s = _FIRST_PAUSE_S
        self._failed(error)

    def _failed(self, error: KafkaAssignorsError) -> None:
        log.warning("%s: %s; trying again in %.0f s", self._name, error, self._pause_s)
        self.down = error
        self._again_at = self._now() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
