"""Pure: samples of the flights' offsets, as if a topic and a group had existed in 2013.

Each flight is a record, due at its scheduled departure, in the partition of its destination: as in the
replay, but in the time of the data and without a broker.  The group reads each partition at a steady rate, so
there is lag when departures come in bursts.
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

    times: _Counts  # seconds since 1970, shape (samples,)
    ends: _Counts  # end offsets, shape (samples, partitions)
    committed: _Counts  # committed offsets, same shape: at most the ends, never decreasing

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
    """Sample the end offsets and the committed offsets of the flights' topic.

    Args:
        flights: the records, in the order of departure.
        partitions: of the topic.
        every_s: seconds between two samples; the first is at midnight (UTC) before the first flight.
        days: days to sample; None: until the last flight.
        service_rate: records/s that the group reads from a partition with lag; by default a little more than
            arrive in rush hours in the busiest of 18 partitions.
    """
    due = np.array([flight.at for flight in flights], np.int64)
    places = {key: partition_of(key, partitions) for key in {flight.key for flight in flights}}
    place = np.array([places[flight.key] for flight in flights], np.int64)
    start = int(due[0]) // 86_400 * 86_400
    span = int(due[-1]) - start if days is None else round(days * 86_400)
    times = start + np.arange(0, span + every_s, every_s, dtype=np.int64)
    count = len(times)
    # A record due exactly at the time of a sample counts from the next one on.
    first_sample = np.searchsorted(times, due, side="right")
    arrived = np.zeros((count, partitions), np.int64)
    is_sampled = first_sample < count
    np.add.at(arrived, (first_sample[is_sampled], place[is_sampled]), 1)
    ends = np.cumsum(arrived, axis=0)
    committed = np.zeros_like(ends)
    done = np.zeros(partitions)
    for sample in range(1, count):
        done = np.minimum(ends[sample], done + service_rate * every_s)
        committed[sample] = np.floor(done)
    return FlightSamples(times, ends, committed)
