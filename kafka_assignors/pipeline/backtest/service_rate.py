"""The service rate of one member, measured in a history.  Pure.

A history does not contain the owners of partitions.  So without the number of members, the service rate is
that of the fastest partition with a backlog: one member read that partition, so a member can read at least as
fast.  With the number of members, the service rate is the rate of the whole group while it has a backlog,
divided by that number.  This is right if all members had lag.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COMMIT_S = 10.0
"""Lag that takes up to this many seconds to read is no backlog: records read but not committed count as lag.

The default interval of auto-commit is 5 s, in kafka-python and in Java.  ``COMMIT_S`` is twice as long,
because end offsets and commits are not sampled at the same time.
"""

_BUSY_S = 30.0  # a rate is measured over this time, because commits come in bursts
_CHANCE = 3.0  # a backlog exceeds pending commits by this many standard deviations of random arrivals
_HIGH = 95.0  # percentile of the measured rates that is returned


def service_rate(rates: Floats, step_s: float) -> float | None:
    """Return the records/s that one member reads while it has lag: the 95th percentile of measured rates.

    Args:
        rates: records per step of one member, from `largest_rates`, records per step; 0: no measurement.
        step_s: length of a step, seconds.

    Returns:
        None without a measurement.
    """
    fastest = rates[rates > 0]
    return float(np.percentile(fastest, _HIGH)) / step_s if fastest.size else None


def largest_rates(served: Floats, lag: Floats, step_s: float) -> Floats:
    """Measure how fast readers read while they have a backlog.

    A reader has a *backlog* in a window if it has lag throughout, and at both ends more lag than pending
    commits (`COMMIT_S`) and random arrivals explain.  A reader without a backlog reads all arrivals, which
    does not show its capacity.

    Args:
        served: records, of shape (steps, readers); NaN: unknown.  A reader is a partition, or the whole
            group.
        lag: records at the end of each step, of the same shape.
        step_s: length of a step, seconds.

    Returns:
        For each window of 30 s (or one step, if longer) the largest rate of a reader with a backlog, records
        per step; 0: no reader has one.  Empty for a history that is too short.
    """
    window = max(1, round(_BUSY_S / step_s))
    is_known = ~np.isnan(served)
    served, lag = np.nan_to_num(served), np.nan_to_num(lag)
    if len(served) <= window:  # the lag before the first step is unknown
        return np.empty(0)
    first: Floats = np.zeros((1, served.shape[1]))
    counts: Floats = np.vstack((first, np.cumsum(is_known & (lag > 0), axis=0)))
    sums: Floats = np.vstack((first, np.cumsum(served, axis=0)))
    rates = ((sums[window:] - sums[:-window]) / window)[1:]
    has_lag = (counts[window:] - counts[:-window] == window)[1:]
    to_commit = rates * COMMIT_S / step_s
    explained = to_commit + _CHANCE * np.sqrt(to_commit)
    has_backlog = np.minimum(lag[:-window], lag[window:]) > explained
    most: Floats = np.where(has_lag & has_backlog, rates, 0.0).max(axis=1)
    return most
