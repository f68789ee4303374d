"""Times calls."""

from __future__ import annotations

import time
from collections.abc import Callable


def times(call: Callable[[], object], runs: int) -> list[float]:
    """Return the seconds of each of several calls."""
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return seconds
