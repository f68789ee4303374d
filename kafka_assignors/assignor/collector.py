"""Pauses Python's garbage collector during a plan."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Disable the collector of reference cycles during the block, if it is enabled.

    The leader of a large group creates a million small objects that all live until the plan is done.
    The collector would scan them repeatedly, which takes a third of the leader's time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
