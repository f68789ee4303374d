"""How members share their time among their partitions: arithmetic on arrays.

A member is one thread that takes the partitions it owns in turn, some records of each: while several have
something to read they get equal parts of it, and what one does not need goes to the others.  Records are a
fluid here.  With arrivals at constant rates over an interval, what each partition has got at its end follows
from sums alone, whatever happened in between: partitions that still have something left got the same, and
none got more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.simulation.history import Levels

__all__ = ["Slots", "by_reader", "shared", "when_empty"]

Slots = npt.NDArray[np.int64]
"""By partition: the number of the member that reads it, or the number of members for nobody."""


def by_reader(reader: Slots, amounts: Levels, members: int) -> Levels:
    """Add up what each member has, and at last what nobody has."""
    return np.bincount(reader, amounts, members + 1).astype(np.float64, copy=False)


def shared(demand: Levels, reader: Slots, capacity: Levels) -> Levels:
    """Records read of each partition within an interval.

    Args:
        demand: what there was to read of it or arrived meanwhile, by partition, records.
        reader: who reads it.
        capacity: what each member can read meanwhile, records; none of them infinite.

    Returns:
        By partition at most ``demand``, exactly that where its member has time for all it has, and nothing
        where nobody reads.  Cost: linear, and a sort of the partitions of members that have not.
    """
    members = len(capacity)
    wanted = by_reader(reader, demand, members)
    short = np.append(wanted[:-1] > capacity, True)  # the last one is nobody, who has no time
    of_short = short[reader]
    read: Levels = np.where(of_short, 0.0, demand)
    those = np.flatnonzero(of_short & (reader < members))
    if len(those):
        read[those] = np.minimum(demand[those], _levels(demand[those], reader[those], capacity))
    return read


def _levels(demand: Levels, reader: Slots, capacity: Levels) -> Levels:
    """What a partition may get at most, so that its member's time is just used up; by partition."""
    order = np.lexsort((demand, reader))
    ascending, of = demand[order], reader[order]
    member, first, size = np.unique(of, return_index=True, return_counts=True)
    group = np.repeat(np.arange(len(member)), size)
    before = np.cumsum(ascending) - ascending
    before -= before[first][group]  # demand of the member's partitions that want less
    rest = size[group] - (np.arange(len(of)) - first[group])  # the others, this one among them
    level = (capacity[of] - before) / rest
    # The first one that wants as much as it can get decides; there is one, as the member has not the time.
    enough = np.flatnonzero(ascending >= level)
    _, where = np.unique(group[enough], return_index=True)
    highest = np.full(len(capacity), np.inf)
    decided = enough[where]
    highest[of[decided]] = level[decided]
    return highest[reader]


def when_empty(lag: Levels, arriving: Levels, rate: Levels) -> Levels:
    """Seconds until each member has nothing left to read; infinite if it never catches up.

    Args:
        lag: what it has to read, by member, records.
        arriving: records/s that come in addition.
        rate: records/s it reads.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Levels = np.where(lag <= 0, 0.0, np.where(rate > arriving, lag / (rate - arriving), np.inf))
    return found
