"""A streaming query that is restarted after a failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.pipeline.faults import is_slow_worker, pipeline_error

log = logging.getLogger(__name__)

PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Pauses after the first failures.  Their number also limits the restarts of a query that never worked."""

_LONGEST_PAUSE_S = 60.0  # after each later failure; after a longer run, failures are counted from 0 again


class RestartingQuery:
    """Restarts a streaming query after a failure, with backoff.  The first start must succeed.

    A query that never worked is restarted at most six times, and only if a Python worker of Spark did not
    start in time, or such a restart failed.

    Args:
        name: name in the log.
        start: starts the query from its checkpoint.  The result has ``query``, ``report()`` and ``stop()``,
            which ends the query and returns the report.
        now: clock in seconds, as ``time.monotonic``.
        before: report of earlier work, included in the total.
        has_worked: whether a report shows that the query has worked.  None: a start is enough.

    Raises:
        KafkaAssignorsError: the first start failed.

    Attributes:
        down: why the query does not run at present; None: it runs.
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
        self._past = before  # the sum of the reports of earlier work and of the queries that ended
        self._failures = 0  # since the last long run
        self._restart_at = 0.0
        self.down: KafkaAssignorsError | None = None
        self._running: Any = start()
        self._since = now()

    def check(self) -> None:
        """Restart the query if it failed and its pause is over; call this regularly.

        Raises:
            KafkaAssignorsError: the query failed, never worked, and is not to be restarted.
        """
        if self._running is not None:
            if self._running.query.isActive:
                return
            self._handle_end()
        if self._now() < self._restart_at:
            return
        try:
            self._running = self._start()
        except Exception as error:  # may be temporary, and must not end the other queries
            failure = pipeline_error(error, "the query does not start")
            if not self._has_ever_worked and self._failures >= len(PAUSES_S):
                raise failure from None if failure is error else error
            self._schedule_restart(failure)
        else:
            log.info("%s: restarted", self._name)
            self.down = None
            self._since = self._now()

    def restart(self, why: str) -> None:
        """Restart a running query now; a failed one restarts by itself."""
        if self._running is not None and self._running.query.isActive:
            log.warning("%s: %s; restarting", self._name, why)
            self.stop()
            self.check()

    def report(self) -> Any:
        """Return the sum of the reports of all starts."""
        return self._past if self._running is None else self._with_past(self._running.report())

    def stop(self) -> Any:
        """End the query, and return the sum of all reports."""
        if self._running is not None:
            self._past = self._with_past(self._running.stop())
            self._running = None
        return self._past

    def _with_past(self, report: Any) -> Any:
        return report if self._past is None else self._past + report

    @property
    def _has_ever_worked(self) -> bool:
        return self._has_worked is None or self._has_worked(self._past)

    def _handle_end(self) -> None:
        cause = self._running.query.exception()
        ended = "the query ended"
        error = pipeline_error(cause, ended) if cause else PipelineError(f"{ended} without an error")
        self.stop()
        if self._has_ever_worked:
            if self._now() - self._since > _LONGEST_PAUSE_S:  # after a long run, this is a new fault
                self._failures = 0
        elif not (is_slow_worker(cause) and self._failures < len(PAUSES_S)):
            raise pipeline_error(cause, self._name) if cause else PipelineError(f"{self._name}: {error}")
        self._schedule_restart(error)

    def _schedule_restart(self, error: KafkaAssignorsError) -> None:
        pause_s = PAUSES_S[self._failures] if self._failures < len(PAUSES_S) else _LONGEST_PAUSE_S
        log.warning("%s: %s; trying again in %.0f s", self._name, error, pause_s)
        self.down = error
        self._restart_at = self._now() + pause_s
        self._failures += 1
