"""The service rate of one member, measured in a history.  Pure.

A history does not have the owners of partitions.  So unless the number of members is known, the service rate
is that of the fastest partition with a backlog.  One member read it, so a member can read at least as much.
With a known number of members it is the rate of the whole group with a backlog, divided by the members, which
is right if all of them had lag.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COMMIT_S = 10.0
"""Records read but not committed count as lag: up to 5 s of reading, the default interval of auto-commit in
kafka-python and in Java.  Twice that, because end offsets and commits are not sampled at the same time."""

_BUSY_S = 30.0
"""A rate is measured over this many seconds, because commits come in bursts."""

_CHANCE = 3.0
"""Standard deviations of random arrivals that are no backlog."""

_HIGH = 95.0
"""The percentile of the measured rates that is returned."""


def service_rate(rates: Floats, step_s: float) -> float | None:
    """Return the records/s that one member reads while it has lag: the 95th percentile of measured rates.

    Args:
        rates: records a step, by window; 0 without a measurement.
        step_s: length of a step, seconds.

    Returns:
        None without a measurement.
    """
    fastest = rates[rates > 0]
    return float(np.percentile(fastest, _HIGH)) / step_s if fastest.size else None


def largest_rates(served: Floats, lag: Floats, step_s: float) -> Floats:
    """Measure the rates with which a history shows that one reader reads.

    A backlog is lag all the time, and at both ends more lag than pending commits (``COMMIT_S``) and random
    arrivals explain.  A group without a backlog reads all arrivals, which does not show its capacity.

    Args:
        served: records, of shape (steps, readers); NaN: unknown.
        lag: records at the end of each step, of the same shape.
        step_s: length of a step, seconds.

    Returns:
        The largest rate of a reader with a backlog over each 30 s (or step, if longer), records a step; 0
        without a backlog.  Empty for a history that is too short.
    """
    window = max(1, round(_BUSY_S / step_s))
    known = ~np.isnan(served)
    served, lag = np.nan_to_num(served), np.nan_to_num(lag)
    if len(served) <= window:  # the lag before the first step is unknown
        return np.empty(0)
    first: Floats = np.zeros((1, served.shape[1]))
    counts: Floats = np.vstack((first, np.cumsum(known & (lag > 0), axis=0)))
    sums: Floats = np.vstack((first, np.cumsum(served, axis=0)))
    rates = ((sums[window:] - sums[:-window]) / window)[1:]
    all_through = (counts[window:] - counts[:-window] == window)[1:]
    to_commit = rates * COMMIT_S / step_s
    explained = to_commit + _CHANCE * np.sqrt(to_commit)
    backlog = np.minimum(lag[:-window], lag[window:]) > explained
    most: Floats = np.where(all_through & backlog, rates, 0.0).max(axis=1)
    return most
