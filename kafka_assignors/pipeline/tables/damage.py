"""Finds damaged Parquet files of a writer.

One job reads the footers of all files together.  If the job fails, the damaged files are found by halving.
An absent column reads as null, which a caller's ``check`` may refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import pipeline_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Damage:
    """A file that cannot be used, and the reason."""

    file: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def find_damage(
    spark: SparkSession,
    folder: str,
    files: Sequence[str],
    wanted: StructType,
    *,
    check: Callable[[DataFrame], DataFrame] | None = None,
) -> list[Damage]:
    """Return the files that cannot be used.

    Args:
        spark: the session.
        folder: folder of the writer, above its ``date=``.
        files: files in it.
        wanted: allowed columns and their types.
        check: read each whole file through this, not only its footer.  It costs as much as reading the data.

    Raises:
        PipelineError: Spark itself fails.
    """

    def trouble(part: Sequence[str]) -> str | None:
        try:
            rows = spark.read.option("basePath", folder).option("mergeSchema", "true").parquet(*part)
            if (wrong := schema_trouble(rows.schema, wanted)) is not None:
                return wrong
            if check is not None:
                _read_all(check(spark.read.schema(wanted).option("basePath", folder).parquet(*part)))
        except Exception as error:  # Spark raises many kinds of errors for damaged files
            return str(pipeline_error(error, "damaged")).removeprefix("damaged: ")
        return None

    def search(part: Sequence[str]) -> Iterator[Damage]:
        if not part or (what := trouble(part)) is None:
            return
        if len(part) == 1:
            yield Damage(part[0], what)
        else:
            yield from search(part[: len(part) // 2])
            yield from search(part[len(part) // 2 :])

    damaged = list(search(files))
    if damaged:
        _check_spark(spark)
    return damaged


def schema_trouble(actual: StructType, wanted: StructType) -> str | None:
    """Describe the first column that is unknown or of another type; None: there is none."""
    types = {column.name: column.dataType for column in wanted}
    for column in actual:
        if column.name not in types:
            return f"has a column {column.name!r} that samples do not have"
        if column.dataType != types[column.name]:
            kind, expected = column.dataType.simpleString(), types[column.name].simpleString()
            return f"column {column.name!r} is {kind}, not {expected}"
    return None


def _read_all(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def _check_spark(spark: SparkSession) -> None:
    """Check that Spark still works, before files are reported as damaged."""
    try:
        spark.range(1).count()
    except Exception as error:
        raise pipeline_error(error, "reading samples") from error
    if spark.sparkContext._jsc is None:
        raise PipelineError("reading samples: Spark itself has ended")
