"""A data source for Spark, ``kafka_group_samples``: offsets of groups, fetched with the admin client.

It supports batch and streaming, and needs no connector jar.  A row is a sample of one partition of one group,
with the columns of ``SAMPLES`` except the date.  A row with a ``problem`` has the reason for a missing sample
(see ``ROWS``).  Readers must filter these rows, as ``record_samples`` does::

    spark.dataSource.register(group_samples(settings))
    spark.read.format("kafka_group_samples").option("groups_like", "orders-.*").load()

Its options are those of ``SamplerOptions``, with ``every`` and ``timeout`` for ``every_s`` and ``timeout_s``;
``groups`` is a JSON list, and numbers are as in JSON.

Rules:
- Connection settings are in the pickled reader, never in options: Spark shows options in plans, in the event
  log and in its UI.  Files named in the settings must exist on every machine that runs tasks.
- The offset of a stream is a *tick*: the time rounded down to ``every``, not a position in a log.  A retried
  task, or a tick repeated after a crash, takes new samples with their own times.  No sample counts twice,
  because the file sink commits one attempt of a tick.  Two sinks get different samples.
- Ticks that passed while no stream ran are skipped, because past samples cannot be fetched.
- No fault of the cluster ends a stream.  Temporary faults are retried within ``timeout``, and then reported
  as a problem.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_assignors.errors import LagError
from kafka_assignors.lag.fetch.group_offsets import fetch_groups, find_groups
from kafka_assignors.pipeline.record.own_groups import selects
from kafka_assignors.pipeline.record.sampling import (
    ROWS,
    SamplerOptions,
    SampleRow,
    divide_groups,
    problem_row,
    rows_of,
)

NAME = "kafka_group_samples"


def group_samples(settings: Mapping[str, Any], cluster: str | None = None) -> type[DataSource]:
    """Make the data source for one cluster, to be registered with a session.

    Args:
        settings: connection settings of ``KafkaConsumer``; they must be picklable.
        cluster: id of the only cluster to sample; None: any.
    """
    # A class that is made at run time is pickled with its attributes; one of a module is pickled by name.
    return type("GroupSamples", (_GroupSamples,), {"settings": dict(settings), "cluster": cluster})


class _GroupSamples(DataSource):
    settings: ClassVar[Mapping[str, Any]]
    cluster: ClassVar[str | None]

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._wanted = SamplerOptions.from_options(options)

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return ROWS

    def reader(self, schema: Any) -> DataSourceReader:
        return _Batch(self.settings, self._wanted, self.cluster)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return _Stream(self.settings, self._wanted, self.cluster)


@dataclass(frozen=True)
class _Share(InputPartition):
    """The groups of one task, and a problem to report."""

    groups: tuple[str, ...]
    problem: str | None = None


class _Reader:
    """The part that batch and streaming readers share."""

    def __init__(self, settings: Mapping[str, Any], wanted: SamplerOptions, cluster: str | None) -> None:
        self._settings = settings
        self._wanted = wanted
        self._cluster = cluster

    def _find(self) -> tuple[list[str], str | None]:
        """Return the groups of the pattern, and why some are unknown; None: all are known.

        Raises:
            LagError: the cluster does not list its groups.
        """
        like = self._wanted.groups_like
        if like is None:
            return [], None
        _silence_kafka_python()
        names, problem = find_groups(self._settings, like, self._wanted.timeout_s * 1000, self._cluster)
        return [name for name in names if selects(like, name)], problem

    def _shares(self, like: Sequence[str], problem: str | None) -> list[InputPartition]:
        """Divide the named groups and those of the pattern among tasks."""
        groups = divide_groups([*self._wanted.groups, *like], self._wanted.num_partitions)
        return [*map(_Share, groups), *([_Share((), problem)] if problem is not None else [])]

    def read(self, partition: InputPartition) -> Iterator[SampleRow]:
        _silence_kafka_python()
        if not isinstance(partition, _Share):
            return  # Spark's placeholder if there is nothing to read
        if partition.problem is not None:
            yield problem_row(datetime.now(timezone.utc), "", partition.problem)
        wanted = self._wanted
        for group in fetch_groups(
            self._settings, partition.groups, wanted.timeout_s * 1000, wanted.topics_like, self._cluster
        ):
            yield from rows_of(group, datetime.now(timezone.utc))


class _Batch(_Reader, DataSourceReader):
    """Reads one batch of samples.  With ``groups_like``, planning fails if the cluster does not answer."""

    def partitions(self) -> list[InputPartition]:
        return self._shares(*self._find())


class _Stream(_Reader, DataSourceStreamReader):
    """Reads a batch of samples each tick."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        wanted: SamplerOptions,
        cluster: str | None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(settings, wanted, cluster)
        self._clock = clock
        self._monotonic = monotonic
        self._last = 0  # tick
        self._last_at = monotonic()

    def initialOffset(self) -> dict[str, int]:
        return {"tick": self._now() - 1}  # so the first batch is now

    # Spark 4.2 passes both arguments, older versions none.
    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:
        last = max(self._last, start["tick"] if start else 0)
        now, waited_s = self._now(), self._monotonic() - self._last_at
        tick = max(now, last)
        # Sampling must go on if the clock was set back.  If the time is before the last tick, wait for
        # ``every_s``, less a tenth, because triggers come early.  If the time is still in the last tick, the
        # clock may be right and the trigger early, so wait twice ``every_s``.
        if tick == last and waited_s > (0.9 if now < last else 2) * self._wanted.every_s:
            tick += 1
        if tick > self._last:
            self._last, self._last_at = tick, self._monotonic()
        return {"tick": tick}

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        if start == end:
            return []
        try:
            return self._shares(*self._find())
        except LagError as error:
            return self._shares([], f"groups cannot be listed: {error}")

    def _now(self) -> int:
        return int(self._clock() // self._wanted.every_s * self._wanted.every_s * 1000)


def _silence_kafka_python() -> None:
    """Keep kafka-python's log off stderr, unless logging is configured: the rows report the problems."""
    log = logging.getLogger("kafka")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
