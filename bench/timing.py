"""Times calls."""

from __future__ import annotations

import time
from collections.abc import Callable


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def times(call: Callable[[], object], runs: int) -> list[float]:
    """Return the seconds of each of several calls."""
    return [timed(call) for _ in range(runs)]
