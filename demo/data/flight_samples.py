"""Pure: a sampler's view of the flights, as a topic of 2013 with a group that reads it.

Each flight is a record, due at its scheduled departure, in the partition of its destination, as in the
replay, but in the time of the data and without a broker.  The group reads each partition at a steady rate, as
one process could, so there is lag where departures come in bursts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from kafka.partitioner.default import murmur2

from demo.data.events import Flight
from kafka_assignors.forecast import Sample
from kafka_assignors.forecast.settings import SECOND

_Counts = npt.NDArray[np.int64]


class FlightSamples(NamedTuple):
    """Samples of all partitions at the same times."""

    times: _Counts  # seconds since 1970, shape (looks,)
    ends: _Counts  # end offsets, shape (looks, partitions)
    committed: _Counts  # committed offsets, at most the ends, never going back

    def of(self, partition: int) -> Iterator[Sample]:
        """Return the samples of one partition."""
        ends, committed = self.ends[:, partition].tolist(), self.committed[:, partition].tolist()
        rows = zip(self.times.tolist(), ends, committed, strict=True)
        return (Sample(time * SECOND, 0, end, offset) for time, end, offset in rows)


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition a producer chooses for a key."""
    place: int = (murmur2(key) & 0x7FFFFFFF) % partitions
    return place


def sample_flights(
    flights: Sequence[Flight],
    partitions: int,
    *,
    every_s: int = 300,
    days: float | None = None,
    service_rate: float = 0.002,
) -> FlightSamples:
    """Sample the flights' topic again and again.

    The first sample is at midnight (UTC) before the first flight; ``days`` None: all.  ``service_rate`` is
    records/s the group reads of each partition while there is something to read; by default a little more
    than arrives in the busiest of 18.
    """
    due = np.array([flight.at for flight in flights], np.int64)
    places = {key: partition_of(key, partitions) for key in {flight.key for flight in flights}}
    place = np.array([places[flight.key] for flight in flights], np.int64)
    start = int(due[0]) // 86_400 * 86_400
    span = int(due[-1]) - start if days is None else round(days * 86_400)
    times = start + np.arange(0, span + every_s, every_s, dtype=np.int64)
    looks = len(times)
    # A record due exactly at a look is seen by the next one.
    before = np.searchsorted(times, due, side="right")
    arrived = np.zeros((looks, partitions), np.int64)
    seen = before < looks
    np.add.at(arrived, (before[seen], place[seen]), 1)
    ends = np.cumsum(arrived, axis=0)
    committed = np.zeros_like(ends)
    done = np.zeros(partitions)
    for look in range(1, looks):
        done = np.minimum(ends[look], done + service_rate * every_s)
        committed[look] = np.floor(done)
    return FlightSamples(times, ends, committed)
