"""Finds damaged Parquet files of a writer.

One job reads the footers of all files together.  If the job fails, the damaged files are found by halving.
An absent column reads as null, which ``check`` may refuse.
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


def sound_files(
    spark: SparkSession,
    folder: str,
    files: Sequence[str],
    wanted: StructType,
    *,
    on_damage: Callable[[Damage], None] | None = None,
    check: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> list[str]:
    """Return the files of a writer that can be used.

    Args:
        spark: the session.
        folder: folder of the writer, above its ``date=``.
        files: files in it.
        wanted: allowed columns and their types.
        on_damage: called for each damaged file.  Each file is then read as a whole, not only its footer.
        check: refuses rows of a file that is read as a whole.

    Raises:
        PipelineError: without ``on_damage``: a file is damaged; or Spark itself fails.
    """

    def trouble(part: Sequence[str]) -> str | None:
        try:
            rows = spark.read.option("basePath", folder).option("mergeSchema", "true").parquet(*part)
            wrong = _schema_trouble(rows.schema, wanted)
            if wrong is None and on_damage is not None:
                rows = check(spark.read.schema(wanted).option("basePath", folder).parquet(*part))
                rows.write.format("noop").mode("overwrite").save()
        except Exception as error:  # Spark raises many kinds of errors for damaged files
            return str(pipeline_error(error, "damaged")).removeprefix("damaged: ")
        return wrong

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
        spark.range(1).count()  # raises if Spark itself has ended, and the files are not damaged
        if on_damage is None:
            raise PipelineError(f"cannot use {len(damaged):,} of {len(files):,} files, first {damaged[0]}")
        for damage in damaged:
            on_damage(damage)
    lost = {damage.file for damage in damaged}
    return [file for file in files if file not in lost]


def _schema_trouble(actual: StructType, wanted: StructType) -> str | None:
    """Describe the first column that is unknown or of another type; None: there is none."""
    types = {column.name: column.dataType for column in wanted}
    for column in actual:
        if column.name not in types:
            return f"has a column {column.name!r} that samples do not have"
        if column.dataType != types[column.name]:
            kind, expected = column.dataType.simpleString(), types[column.name].simpleString()
            return f"column {column.name!r} is {kind}, not {expected}"
    return None
