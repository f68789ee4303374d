"""A data source that looks at consumer groups: where their topics begin and end, and what they committed.

    >>> spark.dataSource.register(KafkaGroupSamples)                      # doctest: +SKIP
    >>> looks = spark.readStream.format("kafka_group_samples").options(   # doctest: +SKIP
    ...     config="/etc/kafka/client.properties", groups="billing,shipping", everySeconds="10").load()

==================  ====================================================================================
option              meaning
==================  ====================================================================================
``config``          a properties file with the connection, there on the driver and on each executor
``bootstrap``       ``host:port`` instead of the file's
``groups``          names with commas between them, or a JSON list of names
``groupsLike``      instead: a pattern with ``*`` and ``?``; looked up anew for each look
``topics``          look at these, too, whether there are commits or not; as ``groups``
``everySeconds``    from one look to the next of a stream (10)
``timeoutSeconds``  the longest a look may take (10)
``parallelism``     Spark partitions that groups are dealt to, each with a connection of its own (2)
==================  ====================================================================================

Rules:
- Settings of the connection come as for every command: file and environment.  What is secret is read where a
  connection is made; it is in no option, so in no plan, log or checkpoint.
- A row with ``missing`` is not a sample: it says what was looked for, and why it is not there.  ``samples``
  and ``missing`` tell the two apart.
- A broker that is away ends nothing: it is waited for while the look may take, then the look is skipped, with
  a row that says so.
- A stream's offset is the time of a look, in ms, a multiple of ``everySeconds``.  A look that a crash left
  unfinished is looked again after the restart: now, with the time of now.  The sink's list of finished files
  holds one of the two, so nothing counts twice, and the time between is a gap, not a guess.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from kafka_assignors.errors import LagError, OptionError
from kafka_assignors.lag.cluster_look import ClusterLook, GroupLook
from kafka_assignors.lag.connection import connection_settings, read_properties
from kafka_assignors.spark.time import utc_date

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["SOURCE", "KafkaGroupSamples", "Wanted", "missing", "samples"]

SOURCE = "sampler"

_LOOKS = """
    time timestamp, group string, topic string, partition int, begin_offset bigint, end_offset bigint,
    committed_offset bigint, missing string
"""
_NO_COMMIT = -1

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options, checked; nothing in it is secret.

    Attributes:
        groups: names; empty where ``like`` counts.
        like: a pattern of names.
        topics: to look at anyway.
        config: path of a properties file; None: no file.
        bootstrap: addresses; None: those of file or environment.
        every_s: from one look to the next.
        timeout_s: the longest a look may take.
        parallelism: how many Spark partitions.
    """

    groups: tuple[str, ...]
    like: str | None
    topics: tuple[str, ...]
    config: str | None
    bootstrap: str | None
    every_s: float
    timeout_s: float
    parallelism: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Wanted:
        """Read options as Spark has them: text, names in any case.

        Raises:
            OptionError: one is unknown, missing or wrong.
        """
        given = {name.lower(): value for name, value in options.items()}
        known = ("groups", "groupslike", "topics", "config", "bootstrap", *_NUMBERS)
        if unknown := sorted(given.keys() - {*known, "path"}):
            raise OptionError(unknown[0], f"unknown, there is {', '.join(known)}")
        groups, like = _names("groups", given.get("groups", "")), given.get("groupslike")
        if bool(groups) == bool(like):
            raise OptionError("groups", "name groups, or give a pattern with groupsLike")
        numbers = {name: _number(name, given.get(name), default) for name, default in _NUMBERS.items()}
        return cls(
            groups,
            like,
            _names("topics", given.get("topics", "")),
            given.get("config"),
            given.get("bootstrap"),
            numbers["everyseconds"],
            numbers["timeoutseconds"],
            max(int(numbers["parallelism"]), 1),
        )

    def connect(self) -> ClusterLook:
        """A connection, with settings from file and environment as they are here and now.

        Raises:
            OptionError: they cannot work.
        """
        properties = {}
        if self.config is not None:
            try:
                properties = read_properties(Path(self.config).read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "not UTF-8"
                raise OptionError("config", f"cannot read {self.config}: {why}") from error
        return ClusterLook(connection_settings(self.bootstrap, properties, os.environ))


_NUMBERS = {"everyseconds": 10.0, "timeoutseconds": 10.0, "parallelism": 2.0}


def samples(looked: DataFrame) -> DataFrame:
    """The looks that found something, as ``SAMPLES``."""
    return looked.where(F.col("missing").isNull()).select(
        *("time", "group", "topic", "partition", "begin_offset", "end_offset", "committed_offset"),
        F.lit(SOURCE).alias("source"),
        utc_date("time").alias("date"),
    )


def missing(looked: DataFrame) -> DataFrame:
    """What was looked for and not found, by reason; no rows: all was there."""
    return (
        looked.where(F.col("missing").isNotNull())
        .groupBy("missing")
        .agg(F.count("*").alias("rows"), F.countDistinct("group").alias("groups"))
        .orderBy("missing")
    )


class KafkaGroupSamples(DataSource):
    """The data source; see the module."""

    @classmethod
    def name(cls) -> str:
        """What to give ``format``."""
        return "kafka_group_samples"

    def schema(self) -> str:
        """Columns of ``SAMPLES`` but for the last two, and ``missing``."""
        return _LOOKS

    def reader(self, schema: object) -> DataSourceReader:
        """One look."""
        return _OneLook(Wanted.of(self.options))

    def streamReader(self, schema: object) -> DataSourceStreamReader:  # noqa: N802  # PySpark's name
        """A look every so often."""
        return _ManyLooks(Wanted.of(self.options))


@dataclass
class _Share(InputPartition):
    """What one task looks at: groups, or why there are none to look at."""

    groups: tuple[str, ...]
    trouble: str | None = None


class _OneLook(DataSourceReader):
    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def partitions(self) -> list[_Share]:
        return _shares(self._wanted)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _look(self._wanted, cast(_Share, partition))


class _ManyLooks(DataSourceStreamReader):
    def __init__(self, wanted: Wanted, clock: Callable[[], float] = time.time) -> None:
        self._wanted = wanted
        self._clock = clock

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"ms": 0}

    def latestOffset(  # noqa: N802  # before 4.2, Spark gives it no arguments
        self, start: Mapping[str, int] | None = None, limit: object = None
    ) -> dict[str, int]:
        every_ms = max(round(self._wanted.every_s * 1000), 1)
        now = int(self._clock() * 1000) // every_ms * every_ms
        return {"ms": max(now, (start or {}).get("ms", 0))}  # a clock that was set back is no new look

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[_Share]:
        return [] if start == end else _shares(self._wanted)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _look(self._wanted, cast(_Share, partition))

    def commit(self, end: Mapping[str, int]) -> None:
        pass  # a look leaves nothing behind


def _shares(wanted: Wanted) -> list[_Share]:
    """Deal the groups; runs on the driver.  Never raises for what a broker does or does not."""
    groups = wanted.groups
    if wanted.like is not None:
        try:
            with wanted.connect() as cluster:
                groups = tuple(g for g in cluster.groups(wanted.timeout_s) if fnmatchcase(g, wanted.like))
        except LagError as error:
            log.warning("a look at the groups is skipped: %s", error)
            return [_Share((), f"look skipped: {error}")]
        if not groups:
            return [_Share((), f"no group is like {wanted.like!r}")]
    count = min(wanted.parallelism, len(groups))
    return [_Share(groups[i::count]) for i in range(count)]


def _look(wanted: Wanted, share: _Share) -> Iterator[pa.RecordBatch]:
    """Look at the groups of one share; runs in a worker."""
    if share.trouble is not None:
        yield _batch([_absent(time.time(), None, share.trouble)])
    if not share.groups:
        return
    with wanted.connect() as cluster:
        found = cluster.look(share.groups, wanted.timeout_s, wanted.topics)
    rows: list[tuple[Any, ...]] = []
    for group, look in found.items():
        rows += _rows(group, look)
    yield _batch(rows)


def _rows(group: str, look: GroupLook) -> Iterator[tuple[Any, ...]]:
    if look.reading is None:
        yield _absent(look.time, group, str(look.error))
        return
    at = _moment(look.time)
    for tp, offsets in look.reading.offsets.items():
        committed = _NO_COMMIT if offsets.committed is None else offsets.committed
        yield at, group, tp.topic, tp.partition, offsets.begin, offsets.end, committed, None
    for tp, why in look.reading.missing.items():
        yield at, group, tp.topic, tp.partition, None, None, None, why
    if not look.reading.offsets and not look.reading.missing:
        yield _absent(look.time, group, "no such group, or one without a commit")


def _absent(at: float, group: str | None, why: str) -> tuple[Any, ...]:
    return _moment(at), group, None, None, None, None, None, why


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    import pyarrow as pa

    number = pa.int64()
    schema = pa.schema(
        [
            ("time", pa.timestamp("us", tz="UTC")),
            ("group", pa.string()),
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("begin_offset", number),
            ("end_offset", number),
            ("committed_offset", number),
            ("missing", pa.string()),
        ]
    )
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _names(option: str, text: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        try:
            names = json.loads(text)
        except ValueError as error:
            raise OptionError(option, "is no JSON list") from error
        if not all(isinstance(name, str) for name in names):
            raise OptionError(option, "has to be a list of names")
        return tuple(dict.fromkeys(names))
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _number(option: str, text: str | None, default: float) -> float:
    try:
        number = default if text is None else float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise OptionError(option, f"{text!r} is no number above 0")
    return number
