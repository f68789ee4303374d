"""The age of the oldest record not read yet, from how much had arrived and was read when."""

from __future__ import annotations

import numpy as np

from kafka_assignors.backtest.history import Levels

__all__ = ["ages"]

_SOME = 1e-6
"""Records: less than that is nothing, but for what floats lose."""


def ages(at: Levels, arrived: Levels, read: Levels) -> Levels:
    """How long the oldest record not read yet has waited, by time and partition, seconds.

    Partitions are read in order, so the oldest one is the one after the last one read.  Between two times
    records arrive evenly; what was there at the first one counts from then.

    Args:
        at: times, seconds, ascending, shape (times,).
        arrived: records arrived until then, shape (times, partitions).
        read: records read until then, the same shape.

    Returns:
        0 where nothing is left.  Cost: linear but for a binary search each.
    """
    found = np.zeros(read.shape)
    for partition in range(read.shape[1]):
        come, gone = arrived[:, partition], read[:, partition]
        late = np.flatnonzero(come - gone > _SOME)
        if not len(late):
            continue
        gone = gone[late]
        # The first time at which more had come; it came since the time before that.
        after = np.searchsorted(come, gone + _SOME / 2, side="right")
        before = np.maximum(after - 1, 0)
        span = come[after] - come[before]
        part = np.where(span > 0, (gone - come[before]) / np.where(span > 0, span, 1.0), 0.0)
        since = at[before] + np.clip(part, 0.0, 1.0) * (at[after] - at[before])
        found[late, partition] = np.maximum(at[late] - since, 0.0)
    return found
