"""The target of a size, and the partitions that no number of members brings under it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.validators import number, positive

EXACT_S = 1e-3
"""Tolerance of a time lag, seconds, because the simulation uses floats."""

NEAR = 1.25
"""A partition that is too late with any number of members may take this many times its shortest time.
Otherwise one such partition would ask for a member of its own from planners that balance counts."""


@dataclass(frozen=True, slots=True)
class Target:
    """The time lag to hold.

    Attributes:
        max_time_lag_s: no record may wait longer, seconds.  Records that wait already count from now.
        headroom: part of a member's service rate that is kept free.

    Raises:
        OptionError: a field is invalid.
    """

    max_time_lag_s: float
    headroom: float = 0.2

    def __post_init__(self) -> None:
        positive("max_time_lag", self.max_time_lag_s, "seconds")
        number("headroom", self.headroom, below=1)


@dataclass(frozen=True, slots=True)
class HotPartition:
    """A partition whose arrivals are more than one member can read in time.

    Attributes:
        topic: its topic.
        partition: its number.
        arriving: records/s in the step with the most.
        partitions: number of partitions of the topic.
        enough: number of partitions with which one member could read each, if keys spread as they do now.
        held: a member of its own reads it in time, but has no headroom.
    """

    topic: str
    partition: int
    arriving: float
    partitions: int
    enough: int
    held: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The largest time lag that a size may have at one rate of its members, by partition.

    Attributes:
        rate: records/s of a member.
        allowed: seconds: the target; infinite for hot partitions, because no size helps; and about the time
            that a member of its own takes if the present lag is more than that reads in time.
        hot: partitions that are too much for one member by their arrivals.
        behind: partitions that are too much for one member by their present lag alone.
    """

    rate: float
    allowed: Levels
    hot: np.ndarray[tuple[int], np.dtype[np.bool_]]
    behind: np.ndarray[tuple[int], np.dtype[np.bool_]]


def service_rate(history: History, target: Target) -> float:
    """Return the records/s of a member that a size counts on.

    Raises:
        OptionError: the history has no rate.
    """
    if history.service_rate is None:
        raise OptionError("rate", "unknown: give the records/s that one member reads")
    return history.service_rate * (1 - target.headroom)


def largest_backlog(history: History, rate: float, size: int = 1) -> Levels:
    """Return the largest lag of each partition if ``size`` members of ``rate`` records/s read it alone."""
    backlog = history.start_lags.astype(np.float64)
    largest = backlog
    for arrivals in history.arrivals:
        backlog = np.maximum(backlog + arrivals - rate * size * history.step_s, 0.0)
        largest = np.maximum(largest, backlog)
    return largest


def checks(history: History, rate: float, target: Target) -> tuple[Limits, ...]:
    """Return the limits that a size has to keep: at this rate, and perhaps at the members' whole rate.

    A partition that is too much for one member only because of the headroom has a limit at the whole rate.
    Otherwise it would have none, and share a member that does not even keep up without headroom.
    """
    reduced, whole = limits(history, rate, target), limits(history, history.service_rate or rate, target)
    return (reduced, whole) if (reduced.hot & ~whole.hot).any() else (reduced,)


def limits(history: History, rate: float, target: Target) -> Limits:
    """Return what a size can reach in a history at this rate."""
    most = target.max_time_lag_s + EXACT_S
    fresh = replace(history, start_lags=np.zeros_like(history.start_lags))
    hot = largest_backlog(fresh, rate) > rate * most
    alone = largest_backlog(history, rate) / rate
    behind = (alone > most) & ~hot
    allowed = np.where(behind, alone * NEAR, target.max_time_lag_s)
    return Limits(rate, np.where(hot, np.inf, allowed) + EXACT_S, hot, behind)


def hot_partitions(history: History, rate: float, target: Target) -> tuple[HotPartition, ...]:
    """Return the partitions that are too much for one member, with the number of partitions that would do."""
    fresh = replace(history, start_lags=np.zeros_like(history.start_lags))
    hot = np.flatnonzero(limits(fresh, rate, target).hot)
    held = ~limits(fresh, history.service_rate or rate, target).hot
    enough: dict[str, int] = {}
    found: list[HotPartition] = []
    names = [(topic, number) for topic, count in history.topics.items() for number in range(count)]
    topics = np.array([topic for topic, _ in names])
    for partition in hot.tolist():
        topic, number = names[partition]
        count = history.topics[topic]
        if topic not in enough:
            columns = hot[topics[hot] == topic]
            enough[topic] = _enough(history.arrivals[:, columns], history.step_s, count, rate, target)
        arriving = float(history.arrivals[:, partition].max()) / history.step_s
        found.append(HotPartition(topic, number, arriving, count, enough[topic], bool(held[partition])))
    return tuple(found)


def _enough(arrivals: Counts, step_s: float, count: int, rate: float, target: Target) -> int:
    """Return the least number of partitions, of ``count`` now, with which all of these hold the target."""

    def holds(partitions: int) -> bool:
        backlog = largest = np.zeros(arrivals.shape[1])
        for step in arrivals * (count / partitions):
            backlog = np.maximum(backlog + step - rate * step_s, 0.0)
            largest = np.maximum(largest, backlog)
        return bool((largest <= rate * (target.max_time_lag_s + EXACT_S)).all())

    # With this many, no step brings more than a member reads.
    low, high = count, max(int(np.ceil(count * arrivals.max() / (rate * step_s))), count + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
