"""A day of flights in time-lapse, and the figures of a group that has read it.  Pure."""

from __future__ import annotations

import statistics
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.lag.day import DAY_S, airborne_s
from demo.data.events import Flight
from demo.figures.ownership import find_holds, handovers
from demo.figures.processing import Sent, sent_by_partition
from demo.group.logs import NS, Entry
from kafka_assignors.simulation.history import Levels

HEAD = (
    "rule", "member-hours", "most members", "mean wait", "p99", "longest", "over the target", "scalings",
    "moves", "start",
)  # fmt: skip

Due = tuple[float, Flight]
"""Seconds since the start, and the flight that sends its position."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """A day in time-lapse, and how it is read; times are real seconds.

    Attributes:
        day_s: length of the day.
        partitions: of the topic.
        busiest: members that keep up with the busiest ten minutes of the day.
        send_s: seconds of the day, not real ones, between two positions of a flight.
        target_s: longest time that a record may wait.
        sync_s: time between two decisions of an HPA.
        look_s: time between two looks of ``size``, whose horizon is twice the target.
        strategy: of the group, a name or ``module:Class``.
    """

    day_s: float = 240.0
    partitions: int = 16
    busiest: int = 5
    send_s: float = 120.0
    target_s: float = 10.0
    sync_s: float = 0.5
    look_s: float = 2.0
    strategy: str = "cooperative-sticky"

    @property
    def speed(self) -> float:
        """Seconds of the day in a real second."""
        return DAY_S / self.day_s


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a group.

    Attributes:
        member_s: real seconds of all members, including those that are starting.
        started: member -> start of its process, ns.
    """

    member_s: float
    most: int
    scalings: int
    started: Mapping[str, int]


def row(
    rule: str, lapse: Lapse, cost: Cost, driver: Sequence[Entry], members: Mapping[str, Sequence[Entry]]
) -> tuple[str, ...]:
    """Return the row of a rule.  Times are real seconds, but member-hours are hours of the day."""
    waits = waits_of(driver, members)
    owned = find_holds(members, {}, max(entry.t for log in members.values() for entry in log))
    first = {hold.member: hold.start for hold in sorted(owned, key=lambda hold: -hold.start)}
    return (
        rule,
        f"{cost.member_s * lapse.speed / 3600:,.1f}",
        f"{cost.most}",
        f"{waits.mean():,.2f} s",
        f"{np.quantile(waits, 0.99):,.1f} s",
        f"{waits.max():,.1f} s",
        f"{(waits > lapse.target_s).mean():.1%}",
        f"{cost.scalings}",
        f"{len(handovers(owned, 0))}",
        f"{statistics.median((t - cost.started[member]) / NS for member, t in first.items()):,.1f} s",
    )


def traffic(flights: Sequence[Flight], begin_s: int, lapse: Lapse) -> list[Due]:
    """Return the positions of a day: each flight sends them from its departure until it lands."""
    due: list[Due] = []
    for flight in flights:
        # The offset spreads the positions of flights that depart in the same minute.
        first = flight.at + zlib.crc32(flight.value) % lapse.send_s
        sent = np.arange(first, flight.at + airborne_s(flight), lapse.send_s)
        sent = sent[(sent >= begin_s) & (sent < begin_s + DAY_S)]
        due += [((at - begin_s) / lapse.speed, flight) for at in sent.tolist()]
    return sorted(due, key=lambda position: position[0])


def rate_of(due: Sequence[Due], lapse: Lapse) -> float:
    """Return the records/s with which ``busiest`` members keep up with the busiest ten minutes."""
    counts, _ = np.histogram([at for at, _ in due], bins=144, range=(0, lapse.day_s))
    return float(counts.max()) / (lapse.day_s / 144) / lapse.busiest


def waits_of(driver: Sequence[Entry], members: Mapping[str, Sequence[Entry]]) -> Levels:
    """Return the seconds from a record's acknowledgement to its first processing, of all records."""
    done: dict[tuple[int, int], int] = {}
    for log in members.values():
        for entry in log:
            if entry.event == "done":
                record = entry.partitions[0], entry.first
                done[record] = min(entry.t, done.get(record, entry.t))
    sent = {partition: Sent(entries) for partition, entries in sent_by_partition(driver).items()}
    seconds = [(t - (sent[partition].at(offset) or t)) / NS for (partition, offset), t in done.items()]
    waits: Levels = np.maximum(np.array(seconds), 0.0)
    return waits
