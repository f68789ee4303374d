"""One background thread for jobs that must not block the thread that submits them."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs jobs one at a time when they are due, on a daemon thread that starts with the first job.

    An executor of the standard library would keep the interpreter alive while a job hangs.
    """

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._now = now
        self._jobs: list[tuple[float, int, Future[Any], Callable[[], Any]]] = []
        self._number = count()  # jobs due at the same time run in the order of submission
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._pid = os.getpid()

    def submit(self, job: Callable[[], T], after_s: float = 0.0) -> Future[T]:
        """Schedule a job, ``after_s`` seconds from now; from any thread.

        Returns:
            A future of the job's result or exception; cancelled if ``stop`` comes before the job has started.

        Raises:
            RuntimeError: the thread cannot start; the job is dropped.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._stopped:
                future.cancel()
                return future
            if self._pid != os.getpid():  # the jobs of the parent process are not ours
                self._jobs.clear()
                self._pid = os.getpid()
            if self._thread is None or not self._thread.is_alive():  # a fork does not keep the thread
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                thread.start()  # before the job is added, because `start` may fail for lack of threads
                self._thread = thread
            heapq.heappush(self._jobs, (self._now() + after_s, next(self._number), future, job))
            self._changed.notify()
        return future

    def stop(self) -> None:
        """Start no more jobs.  A running job goes on; ``join`` waits for it."""
        with self._changed:
            self._stopped = True
            for _due, _number, future, _job in self._jobs:
                future.cancel()
            self._jobs.clear()
            self._changed.notify()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the thread to end; return whether it has.

        A job that calls this gets True at once, because it cannot wait for its own thread.
        """
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
            except Exception as error:  # the next job must run after any error
                future.set_exception(error)
            except BaseException as error:  # SystemExit would end the thread that asks for the result
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """Wait for the next due job; None after ``stop``."""
        with self._changed:
            while not self._stopped:
                wait_s = self._jobs[0][0] - self._now() if self._jobs else threading.TIMEOUT_MAX
                if wait_s <= 0:
                    _due, _number, future, job = heapq.heappop(self._jobs)
                    return future, job
                self._changed.wait(min(wait_s, threading.TIMEOUT_MAX))
            return None
