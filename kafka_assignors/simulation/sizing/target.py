"""The time lag to hold, and the partitions that exceed it with any number of members."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Group
from kafka_assignors.plan.arrays import Mask
from kafka_assignors.simulation.history import Counts, History, Levels
from kafka_assignors.validators import number, positive

EXACT_S = 1e-3
"""Tolerance of a time lag, seconds, because the simulation uses floats."""

NEAR = 1.25
"""A partition that is too late with any number of members may have this many times its least time lag.
Otherwise planners that balance counts would need very many members to give it a member of its own."""


@dataclass(frozen=True, slots=True)
class Target:
    """The time lag to hold.

    Attributes:
        max_time_lag_s: longest time that a record may wait, seconds.  For records that are waiting now, the
            wait counts from now.
        headroom: the part of a member's service rate that is kept free.

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
        arriving: records/s in the step with the most arrivals.
        partitions: number of partitions of the topic.
        enough: how many partitions the topic needs so that no partition is too much for one member, if keys
            spread as they do now.
        held: whether a member without other partitions reads it in time if it keeps no headroom.
    """

    topic: str
    partition: int
    arriving: float
    partitions: int
    enough: int
    held: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The largest time lags that a size (a number of members) may have, given the rate of its fastest member.

    Attributes:
        rate: records/s of the fastest member.
        counted: the history, less those records of hot partitions that even a member without other partitions
            does not read in time.
        allowed: by partition, the time lag it may have, seconds.  This is the target or, if the partition is
            ``behind``, ``NEAR`` times the time that a member without other partitions takes.  `Search`
            relaxes those that the largest size misses.
        hot: by partition, whether its arrivals are too much for one member.
        behind: by partition, whether only its present lag is too much for one member.
    """

    rate: float
    counted: History
    allowed: Levels
    hot: Mask
    behind: Mask


def usable_rate(history: History, target: Target) -> float:
    """Return the records/s that a size counts on from a member of capacity 1: its rate less the headroom.

    Raises:
        OptionError: the history has no rate.
    """
    if history.service_rate is None:
        raise OptionError("rate", "unknown: give the records/s that one member reads")
    return history.service_rate * (1 - target.headroom)


def largest_backlog(start: Levels, arrivals: Iterable[Levels], read: float | Levels) -> Levels:
    """Return the largest lag of each reader.

    Args:
        start: by reader, lag at the start, records.
        arrivals: by reader, records of each step.
        read: most records that a reader reads in a step, for all readers or by reader.
    """
    backlog = largest = start
    for arriving in arrivals:
        backlog = np.maximum(backlog + arriving - read, 0.0)
        largest = np.maximum(largest, backlog)
    return largest


def required_limits(history: History, rate: float, target: Target) -> tuple[Limits, ...]:
    """Return the limits of a size: at ``rate`` records/s and, if a partition is hot, also without headroom.

    A hot partition counts only with the records that can be read in time.  Without headroom these are more.
    """
    reduced = limits(history, rate, target)
    return (
        (reduced, limits(history, history.service_rate or rate, target)) if reduced.hot.any() else (reduced,)
    )


def limits(history: History, rate: float, target: Target) -> Limits:
    """Return the limits of a history if the fastest member reads ``rate`` records/s."""
    read = rate * history.step_s
    most = target.max_time_lag_s + EXACT_S
    start = history.start_lags.astype(np.float64)
    hot = largest_backlog(np.zeros_like(start), history.arrivals, read) > rate * most
    alone = largest_backlog(start, history.arrivals, read) / rate
    behind = (alone > most) & ~hot
    allowed = np.where(behind, alone * NEAR, target.max_time_lag_s) + EXACT_S
    return Limits(rate, _counted(history, hot, rate, target), allowed, hot, behind)


def _counted(history: History, hot: Mask, rate: float, target: Target) -> History:
    """Return the history without the records that do not count, for ``Limits.counted``."""
    most = rate * target.max_time_lag_s
    start_lags, arrivals = history.start_lags.copy(), history.arrivals.copy()
    start_lags[hot] = np.minimum(start_lags[hot], int(most))
    backlog = start_lags[hot].astype(np.float64)
    for arriving in arrivals:
        backlog = np.maximum(backlog + arriving[hot] - rate * history.step_s, 0.0)
        arriving[hot] -= np.ceil(np.maximum(backlog - most, 0.0)).astype(np.int64)
        backlog = np.minimum(backlog, most)
    return replace(history, start_lags=start_lags, arrivals=arrivals)


def hot_partitions(
    history: History, rate: float, newcomer_rate: float, target: Target
) -> tuple[HotPartition, ...]:
    """Return the partitions whose arrivals are too much for one member.

    Args:
        history: the arrivals, with the rate of the fastest member.
        rate: records/s that a size counts on from the fastest member.
        newcomer_rate: records/s that a size counts on from a newcomer, for ``HotPartition.enough``.
        target: the time lag to hold.
    """
    hot = np.flatnonzero(limits(history, rate, target).hot)
    held = ~limits(history, history.service_rate or rate, target).hot
    enough: dict[str, int] = {}
    partitions: list[HotPartition] = []
    group = Group((), history.topics)
    topic_of = group.topic_of
    for partition in hot.tolist():
        topic, number = group.at(partition)
        count = history.topics[topic]
        if topic not in enough:
            columns = hot[topic_of[hot] == topic_of[partition]]
            arrivals = history.arrivals[:, columns]
            enough[topic] = _enough(arrivals, history.step_s, count, newcomer_rate, target)
        arriving = float(history.arrivals[:, partition].max()) / history.step_s
        partitions.append(HotPartition(topic, number, arriving, count, enough[topic], bool(held[partition])))
    return tuple(partitions)


def _enough(arrivals: Counts, step_s: float, count: int, rate: float, target: Target) -> int:
    """Return the least partition count of a topic at which each of these partitions would hold the target."""

    def holds(partitions: int) -> bool:
        each = arrivals * (count / partitions)
        largest = largest_backlog(np.zeros(arrivals.shape[1]), each, rate * step_s)
        return bool((largest <= rate * (target.max_time_lag_s + EXACT_S)).all())

    # With ``high`` partitions no step brings more than a member reads.
    low, high = count, max(int(np.ceil(count * arrivals.max() / (rate * step_s))), count + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
