"""Sources of lag: the cluster, or a user's function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.plan import TopicPartition

Lags = Mapping[TopicPartition, int]

_MAX_LAG = 2**63 - 1


class LagAnswer(NamedTuple):
    """The answer of a source.  ``ends`` and ``commits`` are empty from a user's function."""

    lags: Lags  # records left to read
    problem: str = ""  # why some lags are unknown, as a line for the user; empty if all are known
    ends: Mapping[TopicPartition, int] = MappingProxyType({})  # next offsets to be written
    commits: Mapping[TopicPartition, int] = MappingProxyType({})  # next offsets that the group would read


class LagSource(Protocol):
    """A source of lag.  Two threads call it, sometimes at the same time."""

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Return the records left to read.  May raise any exception."""

    def close(self) -> None:
        """Stop.  A running fetch from the cluster ends at once, but a user's function runs to its end."""


class ClusterLag:
    """Fetches lag from a consumer's cluster.  Connects at the first call.

    Raises:
        OptionError: invalid configuration.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._fetcher = LagFetcher(config)
        self.close = self._fetcher.close

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Fetch the lags; raise `LagError` if none can be fetched."""
        reading = self._fetcher.fetch(partitions, 1000 * timeout_s)
        ends = {partition: offsets.end for partition, offsets in reading.offsets.items()}
        commits = {p: o.committed for p, o in reading.offsets.items() if o.committed is not None}
        problem = ""
        if reading.missing:
            partition, reason = min(reading.missing.items())
            problem = f"{partition.topic}-{partition.partition}: {reason}"
        return LagAnswer(reading.lags, problem, ends, commits)


class FunctionLag:
    """Calls a user's function and checks its answers.

    Args:
        function: takes partitions; returns a number of records for each partition that it knows.
        option: name of the option that holds the function, for ``LagAnswer.problem``.
        whole: whether only integers are accepted; otherwise other numbers are rounded.
    """

    def __init__(
        self,
        function: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]],
        option: str = "lag_source",
        *,
        whole: bool = True,
    ) -> None:
        self._function = function
        self._option = option
        self._numbers = (int, np.integer) if whole else (int, np.integer, float, np.floating)

    def lags(self, partitions: Collection[TopicPartition], timeout_s: float) -> LagAnswer:
        """Call the function, which has no time limit, and drop invalid lags."""
        answer: Mapping[Any, Any] = self._function(partitions)
        lags: dict[TopicPartition, int] = {}
        problem = ""
        for partition in partitions:
            lag = answer.get(partition)
            if isinstance(lag, self._numbers) and 0 <= lag < float("inf"):
                # A huge int has no float.
                number = int(lag) if isinstance(lag, (int, np.integer)) else round(float(lag))
                lags[partition] = min(number, _MAX_LAG)
            elif not problem:
                value = "nothing" if lag is None else f"{lag!r}"
                problem = f"{self._option} returned {value} for {partition.topic}-{partition.partition}"
        return LagAnswer(lags, problem)

    def close(self) -> None:
        """Do nothing: the user owns the function."""


def one_line(error: BaseException) -> str:
    """Describe an exception in one line."""
    if isinstance(error, KafkaAssignorsError):
        return str(error)
    return f"{type(error).__name__}: {error}".split("\n")[0]
