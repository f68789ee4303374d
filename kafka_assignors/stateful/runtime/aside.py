"""A question whose answer takes long, asked in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Generic, NoReturn, TypeVar

__all__ = ["Aside", "in_a_thread"]

T = TypeVar("T")


def in_a_thread(do: Callable[[], None]) -> None:
    """Have something done; nobody waits for it, nor does the process when it ends."""
    threading.Thread(target=do, name="kafka-assignors-aside", daemon=True).start()


class Aside(Generic[T]):
    """One question at a time.

    Args:
        find: what answers it.
        begin: has something done elsewhere.
    """

    def __init__(
        self, find: Callable[[], T], begin: Callable[[Callable[[], None]], None] = in_a_thread
    ) -> None:
        self._find = find
        self._begin = begin
        self._answers: SimpleQueue[Callable[[], T]] = SimpleQueue()
        self._asked = False

    def ask(self) -> None:
        """Begin, unless the last answer is still to come."""
        if not self._asked:
            self._asked = True
            self._begin(self._answer)

    def answer(self) -> T | None:
        """The answer, once; None: there is none yet.

        Raises:
            Exception: what was raised instead of an answer.
        """
        try:
            answer = self._answers.get_nowait()
        except Empty:
            return None
        self._asked = False
        return answer()

    def _answer(self) -> None:
        try:
            found = self._find()
        except Exception as error:
            self._answers.put(partial(_raised, error))
        else:
            self._answers.put(lambda: found)


def _raised(error: Exception) -> NoReturn:
    raise error
