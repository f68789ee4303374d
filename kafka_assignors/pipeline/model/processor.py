"""The load model as a stateful processor of Spark: a call folds the new samples of one bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from kafka_assignors.forecast import LoadSettings, SampleCounts
from kafka_assignors.forecast.bucket import codec
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.rows import LoadRows
from kafka_assignors.forecast.bucket.steps import concatenated
from kafka_assignors.pipeline.model.steps import KEY, ORDER, samples_into, table_of

if TYPE_CHECKING:
    from pyspark.sql.streaming import StatefulProcessorHandle
    from pyspark.sql.streaming.stateful_processor import TimerValues

_COLUMNS = [*KEY, *ORDER]


class LoadProcessor(StatefulProcessor):
    """Folds samples in any order.  The state of a bucket is one Spark value for each part of the codec.

    Samples too far ahead of the batch's time are dropped; a repeated batch has the same time again.  A bucket
    has one timer.  When it expires, the bucket's partitions behind the watermark are flushed and dropped.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the states of the parts."""
        self._handle = handle
        self._parts = {part: handle.getValueState(part, "data binary") for part in codec.PARTS}

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Fold new samples."""
        bucket = codec.decode(self._settings, self._load)
        is_new = not bucket.keys
        tables = (pa.Table.from_pandas(frame[_COLUMNS], preserve_index=False) for frame in rows)
        samples = concatenated(samples_into(bucket, table) for table in tables)
        result, counts = bucket.take(samples, 1000 * timerValues.getCurrentProcessingTimeInMs())
        self._store(bucket)
        if is_new:
            self._set_timer(bucket, timerValues)
        yield _frame(bucket, result, counts)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """Flush and drop partitions behind the watermark."""
        bucket = codec.decode(self._settings, self._load)
        is_old = bucket.table.newest // 1000 < timerValues.getCurrentWatermarkInMs()
        frame = _frame(bucket, bucket.flush(is_old), SampleCounts(0, 0, 0))
        if is_old.all():
            for state in self._parts.values():
                state.clear()
        else:
            bucket.forget(is_old)
            self._store(bucket)
            self._set_timer(bucket, timerValues)
        yield frame

    def close(self) -> None:
        """Do nothing, because nothing is open."""

    def _set_timer(self, bucket: Bucket, times: TimerValues) -> None:
        oldest = int(bucket.table.newest.min()) // 1000
        self._handle.registerTimer(max(oldest, times.getCurrentWatermarkInMs()) + 1)

    def _load(self, part: str) -> bytes | None:
        value = self._parts[part].get()
        return None if value is None else bytes(value[0])

    def _store(self, bucket: Bucket) -> None:
        for part, data in codec.encode(bucket).items():
            self._parts[part].update((data,))


def _frame(bucket: Bucket, rows: LoadRows, counts: SampleCounts) -> pd.DataFrame:
    """Return rows of ``STEPS``, with pandas' nullable integers."""
    whole = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}
    return table_of(bucket, rows, counts).to_pandas(types_mapper=whole.get)
