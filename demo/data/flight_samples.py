"""What a sampler would have seen of the flights, had they been a topic of 2013 with a group that reads it.

Each flight is a record, due at its scheduled departure, in the partition of its destination: the same as in
the demo's replay, but in the time of the data and without a broker.  The group reads each partition at a
steady rate, as one process could, so there is lag where departures come in bursts.
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
    """Looks at all partitions, at the same times.

    Attributes:
        times: seconds since 1970, int64 of shape (looks,).
        ends: end offsets, int64 of shape (looks, partitions).
        committed: committed offsets, likewise; below the ends, never going back.
    """

    times: _Counts
    ends: _Counts
    committed: _Counts

    def of(self, partition: int) -> Iterator[Sample]:
        """The samples of one partition."""
        rows = zip(
            self.times.tolist(),
            self.ends[:, partition].tolist(),
            self.committed[:, partition].tolist(),
            strict=True,
        )
        return (Sample(time * SECOND, 0, end, committed) for time, end, committed in rows)


def partition_of(key: bytes, partitions: int) -> int:
    """Where a producer puts a record with that key."""
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
    """Look at the flights' topic again and again.

    Args:
        flights: ordered by departure; at least one.
        partitions: of the topic.
        every_s: seconds between two looks; the first one is at midnight (UTC) before the first flight.
        days: how many days to look at; None: all there are.
        service_rate: what the group reads of each partition, records/s, while there is something to read; by
            default a little more than arrives in the busiest of 18.
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
    most = service_rate * every_s
    done = np.zeros(partitions)
    for n in range(1, looks):
        done = np.minimum(ends[n], done + most)
        committed[n] = np.floor(done)
    return FlightSamples(times, ends, committed)
