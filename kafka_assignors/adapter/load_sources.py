"""Where forecasts come from: a feed, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kafka_assignors.adapter.lag_keeper import LagKeeper
from kafka_assignors.adapter.lag_sources import Answer, Lags, from_function
from kafka_assignors.plan import TopicPartition

__all__ = ["Expected", "LoadSource", "ToldLoad"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of the work to come.

    Attributes:
        arrivals: records expected to come, of all partitions over one and the same time.
        lags: records that were left to read when that was foreseen.
        problem: why that is not all, a line a person can act on; empty when it is.
        was_said: the problem is in the log already, or only that there was no time yet.
    """

    arrivals: Mapping[TopicPartition, float] = field(default_factory=dict)
    lags: Lags = field(default_factory=dict)
    problem: str = ""
    was_said: bool = False


class LoadSource(Protocol):
    """Where forecasts come from."""

    def begin(self) -> None:
        """Have the forecasts ready; called at every join, on the consumer's I/O thread."""

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Expected:
        """What the leader plans from, on the consumer's I/O thread; may raise anything."""

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """The same in the background; may raise anything."""

    def close(self) -> None:
        """End all threads."""


class ToldLoad:
    """Asks a function of the user's, on a thread of ours.

    Args:
        tell: called with partitions, returns records to come, those it does not know left out.
        refresh_s: seconds what it said counts as just said.
        timeout_s: seconds one look in the background may take.
    """

    def __init__(
        self,
        tell: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
        refresh_s: float,
        timeout_s: float,
    ) -> None:
        source = from_function(tell, "load_source", whole=False)
        self._keeper = LagKeeper(source, refresh_s, timeout_s, what="load")

    def begin(self) -> None:
        """Nothing: it is asked when it is needed."""

    def ask(self, partitions: Collection[TopicPartition], timeout_s: float) -> Expected:
        """What it says within that time."""
        return _expected(self._keeper.ask(partitions, timeout_s))

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """What it says."""
        return _expected(self._keeper.look(partitions))

    def close(self) -> None:
        """End the thread; what hangs in the function is waited for a second."""
        self._keeper.close()


def _expected(answer: Answer) -> Expected:
    return Expected({at: float(records) for at, records in answer.lags.items()}, problem=answer.problem)
