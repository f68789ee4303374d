"""Rows of the load table, and the steps and partitions of a history.  Pure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.errors import HistoryError
from kafka_assignors.pipeline.backtest.service_rate import Floats

MICROSECONDS = 1_000_000  # in a second


@dataclass(frozen=True, slots=True, eq=False)
class LoadColumns:
    """Rows of one group of the load table, as arrays of one length, in any order; NaN is unknown."""

    time: npt.NDArray[np.int64]  # end of the step, microseconds since 1970
    index: npt.NDArray[np.int64]  # of the partition among all of the group, in the planners' order
    arrived: Floats  # records
    served: Floats  # records
    lag: Floats  # records unread at the end of the step
    forecast: Floats  # records forecast for ``horizon_s``
    horizon_s: Floats  # length of the forecast, seconds


class Span(NamedTuple):
    """The rows of a topic whose forecasts have the same horizon.  A topic has a span for each horizon."""

    topic: str
    horizon_s: float | None  # None: they have no forecasts
    times: Sequence[int]  # end of the first and of the last step, microseconds since 1970
    lengths_s: Sequence[float]  # the shortest and the longest step
    partitions: Sequence[int]  # the lowest and the highest number
    rows: int  # number of rows


@dataclass(frozen=True, slots=True)
class HistoryShape:
    """The steps and partitions of the history of a group."""

    group: str
    first: int  # end of the first step, microseconds since 1970
    steps: int  # number of steps
    step_s: float  # length of a step, seconds
    topics: dict[str, int]  # topic -> number of partitions, by name
    horizon_s: float | None  # most frequent horizon; forecasts with others are ignored.  None: no forecasts

    @property
    def partitions(self) -> int:
        """Number of partitions of all topics."""
        return sum(self.topics.values())

    @property
    def size(self) -> int:
        """Bytes of the arrays of the history."""
        return 8 * self.steps * self.partitions * (1 if self.horizon_s is None else 2)

    @property
    def starts(self) -> dict[str, int]:
        """Topic -> index of its first partition among all of the group."""
        return dict(zip(self.topics, itertools.accumulate(self.topics.values(), initial=0), strict=False))

    @property
    def step_us(self) -> int:
        """Length of a step, microseconds."""
        return round(self.step_s * MICROSECONDS)


def shape_of(group: str, spans: Sequence[Span]) -> HistoryShape:
    """Return the shape of the history of a group, which has at least one span.

    Raises:
        HistoryError: steps have different lengths or no length, or a partition number is negative.
    """
    first, last = min(span.times[0] for span in spans), max(span.times[1] for span in spans)
    shortest, longest = min(span.lengths_s[0] for span in spans), max(span.lengths_s[1] for span in spans)
    if shortest != longest:
        raise HistoryError(
            f"group {group!r}: steps of {shortest:g} s and of {longest:g} s: "
            f"choose a part with --since and --until"
        )
    if (step_us := round(shortest * MICROSECONDS)) <= 0:
        raise HistoryError(f"group {group!r}: steps of {shortest:g} s")
    if (lowest := min(span.partitions[0] for span in spans)) < 0:
        raise HistoryError(f"group {group!r}: a partition with the number {lowest}")
    topics = dict.fromkeys(sorted(span.topic for span in spans), 0)
    with_horizon: Counter[float] = Counter()
    for span in spans:
        topics[span.topic] = max(topics[span.topic], span.partitions[1] + 1)
        if span.horizon_s is not None:
            with_horizon[span.horizon_s] += span.rows
    horizon_s = min(with_horizon, key=lambda length_s: (-with_horizon[length_s], length_s), default=None)
    return HistoryShape(group, first, (last - first) // step_us + 1, shortest, topics, horizon_s)
