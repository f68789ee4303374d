"""A data source for Spark, ``kafka_group_samples``: how far groups are, asked over the admin client.

Batch and streaming; it needs no connector jar.  A row is a look at one partition of one group, with the
columns of ``SAMPLES`` but for the date; one with a ``problem`` says instead what could not be seen, and why
(see ``ROWS``).  Whoever reads it has to deal with those, as ``record_samples`` does::

    spark.dataSource.register(group_samples(settings))
    spark.read.format("kafka_group_samples").option("groups_like", "orders-.*").load()

Options: ``groups`` (a list of names in JSON), ``groups_like``, ``topics_like`` (regular expressions of the
whole name), ``every`` (seconds between a stream's looks), ``timeout`` (seconds), ``num_partitions`` (tasks).

Rules:
- The connection's settings travel inside the pickled reader, never as options: options are in plans, in
  the event log, and in Spark's UI.  Files that they name have to be on every machine that runs tasks.
- A stream's offset is a tick, the time rounded down to ``every``, not a place in any log.  A tick that is
  done again, by a task that is tried again or after a crash, is a new look with a time of its own.  No look
  is counted twice: of a tick's tries the file sink commits one.  Two sinks see two looks.
- Looks that did not happen, while nothing ran, cannot be had later: those ticks are skipped.
- Nothing a cluster does ends a stream.  What may pass is tried again within ``timeout``; then there is a
  problem.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_assignors.errors import LagError, PipelineError
from kafka_assignors.lag.fetch.looks import find_groups, look_at_groups
from kafka_assignors.pipeline.record.own_groups import means
from kafka_assignors.pipeline.record.sampling import ROWS, Connection, Row, Wanted, deal, problem_row, rows_of

__all__ = ["NAME", "group_samples"]

NAME = "kafka_group_samples"


def group_samples(settings: Mapping[str, Any]) -> type[DataSource]:
    """The data source for one cluster, to be registered with a session.

    Args:
        settings: as ``KafkaConsumer`` takes them; they have to pickle.
    """
    # Of a class that was made here, unlike of one of a module, its attributes are pickled with it.
    return type("GroupSamples", (_GroupSamples,), {"connection": Connection(dict(settings))})


class _GroupSamples(DataSource):
    connection: ClassVar[Connection]

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._wanted = Wanted.from_options(options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return ROWS

    def reader(self, schema: Any) -> DataSourceReader:
        return _Batch(self.connection, self._wanted)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return _Stream(self.connection, self._wanted)


class _Share(InputPartition):
    """The groups of one task, and what to report beside."""

    def __init__(self, groups: tuple[str, ...], problem: str | None = None) -> None:
        super().__init__(None)
        self.groups = groups
        self.problem = problem


class _Looking:
    """What batch and streaming have in common."""

    def __init__(self, connection: Connection, wanted: Wanted) -> None:
        self._connection = connection
        self._wanted = wanted

    def _shares(self) -> list[InputPartition]:
        """Groups dealt to tasks; asks the cluster only where there is a pattern.

        Raises:
            LagError: the cluster does not tell which groups there are.
        """
        wanted = self._wanted
        found, problem = list(wanted.groups), None
        if wanted.groups_like is not None:
            _no_words_of_kafka_python()
            like, problem = find_groups(
                self._connection.settings, wanted.groups_like, wanted.timeout_s * 1000
            )
            found += [name for name in like if means(wanted.groups_like, name)]
        shares = [_Share(groups) for groups in deal(found, wanted.num_partitions)]
        return [*shares, *([_Share((), problem)] if problem is not None else [])]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        _no_words_of_kafka_python()
        if partition is None or not isinstance(partition, _Share):
            return  # Spark's stand-in where there is nothing to read
        if partition.problem is not None:
            yield problem_row(datetime.now(timezone.utc), "", partition.problem)
        wanted = self._wanted
        for look in look_at_groups(
            self._connection.settings, partition.groups, wanted.timeout_s * 1000, wanted.topics_like
        ):
            yield from rows_of(look, datetime.now(timezone.utc))


class _Batch(_Looking, DataSourceReader):
    """One look.  Where nothing at all can be had that is an error, when Spark plans the query."""

    def partitions(self) -> list[InputPartition]:
        try:
            return self._shares()
        except LagError as error:
            raise PipelineError(str(error)) from error


class _Stream(_Looking, DataSourceStreamReader):
    """A look a tick.

    Args:
        connection: how to reach the cluster.
        wanted: what to look at.
        clock: seconds since 1970.
        ticks: seconds that nobody sets back.
    """

    def __init__(
        self,
        connection: Connection,
        wanted: Wanted,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, wanted)
        self._clock = clock
        self._ticks = ticks
        self._last = 0
        self._last_at = ticks()

    def initialOffset(self) -> dict[str, int]:
        return {"tick": self._now() - 1}  # so that the first look is now

    # Spark 4.1 calls it without arguments, 4.2 with both.
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
        last = max(self._last, start["tick"] if start else 0)
        tick, waited_s = max(self._now(), last), self._ticks() - self._last_at
        if tick == last and waited_s > 2 * self._wanted.every_s:
            tick += 1  # the clock was set back, and looks must go on
        if tick > self._last:
            self._last, self._last_at = tick, self._ticks()
        return {"tick": tick}

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        if start == end:
            return []
        try:
            return self._shares()
        except LagError as error:
            return [
                *(_Share(groups) for groups in deal(self._wanted.groups, self._wanted.num_partitions)),
                _Share((), f"which groups there are is not known: {error}"),
            ]

    def commit(self, end: Any) -> None:
        """Nothing: there is no place in the cluster to remember."""

    def _now(self) -> int:
        return int(self._clock() // self._wanted.every_s * self._wanted.every_s * 1000)


def _no_words_of_kafka_python() -> None:
    """Keep what it says of each lost connection off stderr: problems are rows, which are reported once.

    Where somebody set up logging in the workers, nothing changes.
    """
    log = logging.getLogger("kafka")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
