"""Where lag comes from: the cluster, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.plan import TopicPartition

__all__ = ["LagAnswer", "LagSource", "Lags", "from_cluster", "from_function", "one_line"]

Lags = Mapping[TopicPartition, int]

_MOST_LAG = 2**63 - 1


class LagAnswer(NamedTuple):
    """What could be found out.

    Attributes:
        lags: records left to read.
        problem: why that is not all, a line a person can act on; empty when it is.
    """

    lags: Lags
    problem: str = ""


class LagSource(Protocol):
    """Where lag comes from; asked by two threads, at once at times."""

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Records left to read.  May raise anything."""

    def close(self) -> None:
        """Nothing more is asked for; what is under way in another thread shall end soon."""


def from_cluster(config: Mapping[str, Any]) -> LagSource:
    """Ask the cluster a consumer of this configuration reads from; it connects when it is asked.

    Raises:
        OptionError: the configuration cannot work.
    """
    return _Cluster(LagFetcher(config))


def from_function(
    tell: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
    option: str = "lag_source",
    *,
    whole: bool = True,
) -> LagSource:
    """Ask a function of the user's, and check what it says.

    Args:
        tell: called with partitions, returns records of each it knows.
        option: whose value that is.
        whole: whether it counts whole records; estimates are rounded.
    """
    return _Function(tell, option, whole)


class _Cluster:
    def __init__(self, fetcher: LagFetcher) -> None:
        self._fetcher = fetcher
        self.close = fetcher.close

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        reading = self._fetcher.fetch(partitions, 1000 * timeout_s)
        if not reading.missing:
            return LagAnswer(reading.lags)
        at, why = min(reading.missing.items())
        return LagAnswer(reading.lags, f"{at.topic}-{at.partition}: {why}")


class _Function:
    def __init__(
        self,
        tell: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
        option: str,
        whole: bool,
    ) -> None:
        self._tell = tell
        self._option = option
        self._whole = whole
        self._numbers = (int, np.integer) if whole else (int, np.integer, float, np.floating)

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        told: Mapping[Any, Any] = self._tell(partitions)
        found: dict[TopicPartition, int] = {}
        problem = ""
        for at in partitions:
            lag = told.get(at)
            if isinstance(lag, self._numbers) and 0 <= lag < float("inf"):
                found[at] = min(int(lag) if self._whole else round(float(lag)), _MOST_LAG)
            elif not problem:
                what = "nothing" if lag is None else f"{lag!r}"
                problem = f"{self._option} says {what} of {at.topic}-{at.partition}"
        return LagAnswer(found, problem)

    def close(self) -> None:
        """It is not ours to close."""


def one_line(error: Exception) -> str:
    """What went wrong, as part of a line."""
    if isinstance(error, KafkaAssignorsError):
        return str(error)
    return f"{type(error).__name__}: {error}".split("\n")[0]
