"""A call that may take long, made in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")


def run_in_thread(do: Callable[[], None]) -> None:
    """Run a function in a daemon thread."""
    threading.Thread(target=do, name="kafka-assignors-background", daemon=True).start()


class BackgroundCall(Generic[T]):
    """One call at a time.

    Args:
        function: the call.
        run: runs a function elsewhere.
    """

    def __init__(
        self, function: Callable[[], T], run: Callable[[Callable[[], None]], None] = run_in_thread
    ) -> None:
        self._function = function
        self._run = run
        self._results: SimpleQueue[Callable[[], T]] = SimpleQueue()
        self._is_running = False

    def start(self) -> None:
        """Start a call, unless one is running."""
        if not self._is_running:
            self._is_running = True
            self._run(self._call)

    def result(self) -> T | None:
        """Return the result once; None: there is none yet.

        Raises:
            Exception: the exception of the call.
        """
        try:
            result = self._results.get_nowait()
        except Empty:
            return None
        self._is_running = False
        return result()

    def _call(self) -> None:
        try:
            value = self._function()
        except Exception as error:
            self._results.put(partial(_raise, error))
        else:
            self._results.put(lambda: value)


def _raise(error: Exception) -> NoReturn:
    raise error
