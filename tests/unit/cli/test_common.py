"""The end of a command by a signal."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from kafka_assignors.cli.common import sigterm_as_interrupt, wait_for_interrupt
from tests.support.waiting import until


def test_sigterm_that_another_thread_takes_ends_the_wait() -> None:
    main, ended, late = threading.get_ident(), threading.Event(), []

    def take_signal() -> None:
        until(lambda: sys._current_frames()[main].f_code is wait_for_interrupt.__code__, "the wait")
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not ended.wait(30):
            late.append("the main thread slept on")
            signal.pthread_kill(main, signal.SIGTERM)

    with sigterm_as_interrupt():
        thread = threading.Thread(target=take_signal)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            wait_for_interrupt()
        ended.set()
        thread.join()
    assert not late
