"""Pure: what one member reads while it has something to read, as far as a history tells."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["COMMIT_S", "service_rate"]

Floats = npt.NDArray[np.float64]

COMMIT_S = 10.0
"""What is read and not committed yet is lag, too, however idle a group is: up to 5 s of what it reads, as
consumers commit by themselves so often by default, in kafka-python and in Java.  Twice that, as ends and
commits are not looked at in the same moment."""

_BUSY_S = 30.0
"""A rate counts that was kept up for so long: commits come in bursts."""

_CHANCE = 3.0
"""Standard deviations of what arrives by chance: of few records it is easily twice the mean."""

_HIGH = 95.0
"""The percentile of such rates that is taken for what a member can do."""


def service_rate(
    served: Floats, lag: Floats, step_s: float, recorded_members: int | None = None
) -> float | None:
    """What one member reads while it has something to read, records/s, as far as a history tells.

    Who owned what is not in the history.  So without ``recorded_members`` it is the rate of the fastest
    partition, over half a minute (a step, if that is longer) in which it had a backlog: one member read it,
    so a member can do that much at least, and more if it had to share its time with others just then.  With
    it, it is the rate of the whole group while that had a backlog, shared evenly: right if all had work.

    A backlog is lag all through and, at both ends, more than commits that are still to come explain
    (``COMMIT_S``, and what arrives by chance).  A group without one reads what comes, which says nothing of
    what it could.

    Args:
        served: records, of shape (steps, partitions); NaN: not known.
        lag: records at the end of each step, likewise.
        step_s: length of a step.
        recorded_members: how many members the group had.

    Returns:
        A high percentile over the history; None where there never was a backlog for so long, or nothing was
        read.
    """
    window = max(1, round(_BUSY_S / step_s))
    known = ~np.isnan(served)
    if recorded_members is None:
        rates = _kept_up(np.nan_to_num(served), np.nan_to_num(lag), known, window, step_s)
    else:
        served, lag = (np.nan_to_num(one).sum(axis=1, keepdims=True) for one in (served, lag))
        of_all = np.asarray(known.all(axis=1, keepdims=True))
        rates = _kept_up(served, lag, of_all, window, step_s) / recorded_members
    fastest = rates[rates > 0]
    return float(np.percentile(fastest, _HIGH)) / step_s if fastest.size else None


def _kept_up(served: Floats, lag: Floats, known: npt.NDArray[np.bool_], window: int, step_s: float) -> Floats:
    """Of each window the most that a column read per step, of those that had a backlog all through."""
    if len(served) <= window:  # the lag before the first step is not known
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
