"""The flights of 2013, minute by minute, and members that process them.  Pure.

There is no broker.  Time is not compressed, and rebalances take no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from demo.data.events import Flight
from demo.data.flight_samples import partition_of
from kafka_assignors.plan import Group, Member, TopicPartition

TOPIC = "flights"
HOUR_S, MINUTES = 3600, 60
WEEK = 7 * 24  # hours

Numbers = npt.NDArray[np.float64]
Owners = npt.NDArray[np.int32]


class Traffic(NamedTuple):
    """Records by hour, minute of the hour, and partition: shape (hours, 60, partitions)."""

    begin_s: int  # since 1970
    arrivals: Numbers

    @property
    def hours(self) -> Numbers:
        """Records by hour and partition."""
        total: Numbers = self.arrivals.sum(axis=1)
        return total


def traffic_of(departures: Sequence[Flight], partitions: int, weeks: int) -> Traffic:
    """Return so many weeks of departures by partition, from midnight UTC before the first departure."""
    begin_s = departures[0].at // (24 * HOUR_S) * 24 * HOUR_S
    minutes = weeks * WEEK * MINUTES
    counts = np.zeros((minutes, partitions))
    place: dict[bytes, int] = {}
    for flight in departures:
        if flight.key not in place:
            place[flight.key] = partition_of(flight.key, partitions)
        minute = (flight.at - begin_s) // 60
        if minute < minutes:
            counts[minute, place[flight.key]] += 1
    return Traffic(begin_s, counts.reshape(-1, MINUTES, partitions))


class Hour(NamedTuple):
    """The result of an hour."""

    member: float  # the largest lag that a member had at the end of a minute, records
    partition: float  # the largest lag that a partition had, records
    left: Numbers  # lag at the end of the hour, by partition


def work_off(lag: Numbers, arrivals: Numbers, owners: Owners, members: int, rate: float) -> Hour:
    """Let members work for an hour.  Each reads from all its partitions, in proportion to their lags.

    Each can process ``rate`` records in a minute.
    """
    member = partition = 0.0
    for came in arrivals:
        due = lag + came
        of_member = np.bincount(owners, due, members)
        kept = np.maximum(of_member - rate, 0.0) / np.maximum(of_member, 1e-9)
        lag = due * kept[owners]
        member = max(member, float(np.bincount(owners, lag, members).max()))
        partition = max(partition, float(lag.max()))
    return Hour(member, partition, lag)


def group_of(owners: Owners | None, lag: Numbers, members: int) -> Group:
    """Return the group as its leader sees it; ``owners`` None: no member owns a partition."""
    names = [f"m{i:02}" for i in range(members)]
    owned = [[] if owners is None else np.flatnonzero(owners == i).tolist() for i in range(members)]
    return Group(
        tuple(
            Member(name, frozenset({TOPIC}), {TOPIC: mine}, generation=1)
            for name, mine in zip(names, owned, strict=True)
        ),
        {TOPIC: len(lag)},
        lags={TOPIC: np.rint(lag).astype(int).tolist()},
    )


def named(values: Numbers) -> dict[TopicPartition, float]:
    """Return the values by topic and partition."""
    return {TopicPartition(TOPIC, p): value for p, value in enumerate(values.tolist())}
