"""Which Parquet files of a writer can be used, and what is wrong with the others.

All files are looked at together, in one job over their footers; only if that fails is the culprit searched
for, by halves.  A column that may be null may also be absent: it reads as null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import pipeline_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["Damage", "find_damage", "schema_trouble"]


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that cannot be used, and why."""

    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def find_damage(
    spark: SparkSession, folder: str, files: Sequence[str], wanted: StructType, *, thorough: bool = False
) -> list[Damage]:
    """The files that cannot be used; none: all can.

    Args:
        spark: the session.
        folder: the writer's, above its ``date=``.
        files: in it.
        wanted: columns and types that files may have.
        thorough: read all of each file, not only its footer; costs as much as reading the data.

    Raises:
        PipelineError: Spark itself is in trouble.
    """

    def trouble(some: Sequence[str]) -> str | None:
        try:
            found = spark.read.option("basePath", folder).option("mergeSchema", "true").parquet(*some)
            if (wrong := schema_trouble(found.schema, wanted)) is not None:
                return wrong
            if thorough:
                _read_all(found)
        except Exception as error:  # whatever Spark makes of such a file
            return str(pipeline_error(error, "damaged")).removeprefix("damaged: ")
        return None

    def search(some: Sequence[str]) -> Iterator[Damage]:
        if not some or (what := trouble(some)) is None:
            return
        if len(some) == 1:
            yield Damage(some[0], what)
        else:
            yield from search(some[: len(some) // 2])
            yield from search(some[len(some) // 2 :])

    damaged = list(search(files))
    if damaged:
        _still_there(spark)
    return damaged


def schema_trouble(found: StructType, wanted: StructType) -> str | None:
    """What is wrong with columns: one that should not be there, or of another type."""
    types = {column.name: column.dataType for column in wanted}
    for column in found:
        if column.name not in types:
            return f"has a column {column.name!r} that samples do not have"
        if column.dataType != types[column.name]:
            is_, should = column.dataType.simpleString(), types[column.name].simpleString()
            return f"column {column.name!r} is {is_}, not {should}"
    return None


def _read_all(found: DataFrame) -> None:
    found.write.format("noop").mode("overwrite").save()


def _still_there(spark: SparkSession) -> None:
    """Before files are blamed: does this Spark do anything at all?"""
    try:
        spark.range(1).count()
    except Exception as error:
        raise pipeline_error(error, "reading samples") from error
    if spark.sparkContext._jsc is None:
        raise PipelineError("reading samples: Spark itself has ended")
