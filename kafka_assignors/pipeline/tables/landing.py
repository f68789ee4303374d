"""Writes samples, by a stream or at once.

Rules:
- Each writer has its own folder ``samples/WRITER``, partitioned by ``date``.  A stream has its list of
  finished files (``_spark_metadata``) there, and its checkpoint in ``checkpoints/WRITER``.
- Files left half-written by a crash are not in the list, and are not read.
- A checkpoint belongs to one recording, described in its ``about.json``, and `land_stream` checks that.
  Otherwise Spark would use the offsets of another cluster, or drop new samples: it numbers batches, and would
  skip those whose numbers are in the list already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.tables.checkpoints import check_age, check_settings, read_object
from kafka_assignors.pipeline.tables.reading import WRITER_NAME
from kafka_assignors.pipeline.tables.schemas import NEVER_NULL, SAMPLE_COLUMNS
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LAYOUT = 1
_ELSEWHERE = "take another folder"


def land_stream(
    samples: DataFrame,
    root: str,
    writer: str,
    *,
    about: Mapping[str, str] = {},
    available_now: bool = False,
    every_s: float = 0.0,
) -> StreamingQuery:
    """Start a stream that appends samples to the folder of one writer, each exactly once.

    Only one stream at a time may write to the folder.  ``about`` describes the recording, such as its topic
    and cluster.  A batch begins every ``every_s`` seconds; 0: without a pause.

    Raises:
        PipelineError: the checkpoint is of another recording, or older than the samples.
    """
    with as_pipeline_error(f"recording to {root}"):
        _bind_checkpoint(Storage(samples.sparkSession, root), _checked_name(writer), about)
        return (
            samples.select(*SAMPLE_COLUMNS)
            .repartition(1)  # one file per batch and date; otherwise each Spark task would write its own
            .writeStream.queryName(f"{root}/samples/{writer}")
            .format("parquet")
            .partitionBy("date")
            .option("path", f"{root}/samples/{writer}")
            .option("checkpointLocation", f"{root}/checkpoints/{writer}")
            .trigger(**trigger(every_s, available_now=available_now))
            .start()
        )


def trigger(every_s: float, *, available_now: bool) -> dict[str, Any]:
    """Return options of a stream's trigger: end after the existing data, or a batch every ``every_s``."""
    return {"availableNow": True} if available_now else {"processingTime": f"{every_s:g} seconds"}


def write_samples(samples: DataFrame, root: str, writer: str) -> None:
    """Append samples to the folder of a writer; the folder of a stream raises a `PipelineError`."""
    with as_pipeline_error(f"writing to {root}"):
        if Storage(samples.sparkSession, root).has(f"samples/{_checked_name(writer)}/_spark_metadata"):
            raise PipelineError(f"samples/{writer} in {root} belongs to a stream: name another writer")
        rows = samples.select(*SAMPLE_COLUMNS).repartition(1)
        rows.write.mode("append").partitionBy("date").parquet(f"{root}/samples/{writer}")


def _bind_checkpoint(storage: Storage, writer: str, about: Mapping[str, str]) -> None:
    """Check that checkpoint and file list are this recording's, or do not exist; write ``about.json``."""
    checkpoint, samples = f"checkpoints/{writer}", f"samples/{writer}"
    where = f"{checkpoint} in {storage.root}"
    wanted = {"layout": _LAYOUT, "columns": dict(SAMPLE_COLUMNS), **about}
    known = read_object(storage, f"{checkpoint}/about.json", {"columns": dict}, _ELSEWHERE)
    if known is not None:
        columns = known["columns"]  # an earlier version may have had fewer nullable columns
        if not (columns.items() <= SAMPLE_COLUMNS.items() and columns.keys() >= set(NEVER_NULL)):
            raise PipelineError(f"{where} is of samples with other columns: {_ELSEWHERE}")
        check_settings(storage, checkpoint, {**known, "columns": SAMPLE_COLUMNS}, wanted, _ELSEWHERE)
    elif storage.has(f"{checkpoint}/offsets"):
        raise PipelineError(f"{where} belongs to another program: {_ELSEWHERE}")
    # Spark skips the batches in the list.  After a kill at the first start, the list may be an empty folder.
    listed = storage.newest_batch(f"{samples}/_spark_metadata")
    check_age(storage, checkpoint, samples, listed, f"move {samples} and {checkpoint} away")
    if not storage.has(f"{samples}/_spark_metadata"):
        # Spark keeps only the last hundred commits, so the first may be missing.
        if storage.files(f"{checkpoint}/commits/*"):
            raise PipelineError(
                f"{where} has lost its samples, so going on would miss them: "
                f"restore {samples}, or move {checkpoint} away"
            )
        if storage.folders(samples):
            raise PipelineError(
                f"{samples} in {storage.root} has files that are not of a stream: {_ELSEWHERE}"
            )
    if known != wanted:
        storage.write(f"{checkpoint}/about.json", json.dumps(wanted, indent=1))


def _checked_name(writer: str) -> str:
    if not WRITER_NAME.fullmatch(writer):
        raise PipelineError(
            f"writer {writer!r}: a name must begin with a letter or digit, and have only these, - and _"
        )
    return writer
