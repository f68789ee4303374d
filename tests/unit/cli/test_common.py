"""The end of a command by a signal."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from kafka_assignors.cli.common import sigterm_as_interrupt, wait_for_interrupt


def test_sigterm_that_another_thread_takes_ends_the_wait() -> None:
    def take_signal() -> None:
        time.sleep(0.2)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with sigterm_as_interrupt():
        thread = threading.Thread(target=take_signal)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            wait_for_interrupt()
    thread.join()
