"""One thread for what must not be done on the consumer's I/O thread, and that ends when it is told to."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, TypeVar

__all__ = ["Background"]

T = TypeVar("T")


class Background:
    """Runs jobs one after the other, each when it is due, on a daemon thread that starts with the first.

    (An executor of the standard library would keep the interpreter from ending while a job hangs.)

    Args:
        name: of the thread.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._jobs: list[tuple[float, int, Future[Any], Callable[[], Any]]] = []
        self._number = count()  # of equals the first comes first
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def submit(self, job: Callable[[], T], after_s: float = 0.0) -> Future[T]:
        """Run a job, at once or in a while.

        Returns:
            What comes of it, or the exception it raised; cancelled if it has not begun when this is stopped.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._stopped:
                future.cancel()
                return future
            heapq.heappush(self._jobs, (self._now() + after_s, next(self._number), future, job))
            if self._thread is None or not self._thread.is_alive():  # after a fork there is none any more
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Begin nothing more.  What is under way goes on; ``join`` waits for it."""
        with self._changed:
            self._stopped = True
            for _due, _number, future, _job in self._jobs:
                future.cancel()
            self._jobs.clear()
            self._changed.notify()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread; whether it has ended.  It does not wait for itself."""
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (due := self._next()) is not None:
            future, job = due
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(job())
            except Exception as error:  # whatever it is, the next job is to run
                future.set_exception(error)
            except BaseException as error:  # not to be raised where its result is waited for
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """Wait for the next job that is due; None when this is stopped."""
        with self._changed:
            while not self._stopped:
                wait_s = self._jobs[0][0] - self._now() if self._jobs else threading.TIMEOUT_MAX
                if wait_s <= 0:
                    _due, _number, future, job = heapq.heappop(self._jobs)
                    return future, job
                self._changed.wait(min(wait_s, threading.TIMEOUT_MAX))
            return None
