"""Runs the maintenance, at once or each hour."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from kafka_assignors.background import Background
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.maintenance.merging import STAGING, merge_load, noted
from kafka_assignors.pipeline.maintenance.samples import ListedSamples
from kafka_assignors.pipeline.tables.reading import writers
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.validators import whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

FILES = 360
"""The samples of today are merged from this number of files on: one hour of batches every 10 s."""

_FIRST_S, _AGAIN_S, _PAUSE_S = 60.0, 60.0, 3600.0
_GRACE = timedelta(days=1)
_MOST_DAYS = 99_999  # largest ``keep_days``; ``--keep`` has the same limit


class Maintenance:
    """Maintains a recording each hour, or each minute while there is more to do.  Logs and retries failures.

    ``run`` returns whether there may be more to do.  It runs in the background, because merging a day may
    take minutes.
    """

    def __init__(self, run: Callable[[], bool], background: Background) -> None:
        self._run = run
        self._background = background
        self.down: KafkaAssignorsError | None = None  # why the last run failed
        background.submit(self._maintain, _FIRST_S)

    def _maintain(self) -> None:
        pause_s, failure = _PAUSE_S, None
        try:
            if self._run():
                pause_s = _AGAIN_S
        except KafkaAssignorsError as error:
            failure = error
        again = self._background.submit(self._maintain, pause_s)
        self.down = failure
        # Spark stops at the end of the pipeline, even during a run.  That failure is expected, and nothing is
        # tried again, so log nothing.
        if failure is not None and not again.cancelled():
            _LOG.warning("%s; trying again in %.0f min", failure, pause_s / 60)


def maintain(
    spark: SparkSession,
    root: str,
    *,
    keep_days: int | None = None,
    files: int = FILES,
    now: datetime | None = None,
) -> bool:
    """Merge the small files of one day, for each writer and for the load, and delete days that are too old.

    Args:
        spark: the session.
        root: folder of the pipeline.
        keep_days: number of days of samples and load to keep besides today; None: all.
        files: merge the samples of today from this number of files on.  Samples of a past day are always
            merged; the load of a past day is merged if it has more than ``MOST_LEFT`` files.
        now: the current time; None: by the clock.

    Returns:
        Whether files were merged, so there may be more to merge.

    Raises:
        OptionError: ``keep_days`` is out of range.
        PipelineError: a file cannot be read or written; nothing is lost, and other days are maintained.
    """
    now = now or datetime.now(timezone.utc)
    first = date.min
    if keep_days is not None:
        first = now.date() - timedelta(days=whole("keep_days", keep_days, 0, _MOST_DAYS))
    merged, failures = False, list[KafkaAssignorsError]()
    with as_pipeline_error(f"maintenance of {root}"):
        storage = Storage(spark, root)
        names = writers(spark, root)
    for writer in names:
        with noted(failures, root):
            listed = ListedSamples(spark, storage, writer)
            # A writer without lists is an import, or a stream before its first batch.
            _remove_folders(storage, f"samples/{writer}", date.min if listed.lists else first)
            if listed.lists:
                listed.delete_unlisted(now - _GRACE)
                merged |= listed.shorten(first, now.date(), files, failures)
    with noted(failures, root):
        _remove_folders(storage, "load", first)
        merged |= merge_load(spark, storage, now.date(), failures)
    if failures:
        raise failures[0]
    return merged


def _remove_folders(storage: Storage, folder: str, first: date) -> None:
    """Remove the days before ``first``, and the staging folders of interrupted merges."""
    for name in storage.folders(folder):
        is_old = name.startswith("date=") and date.fromisoformat(name.removeprefix("date=")) < first
        if is_old or name.startswith(STAGING):
            storage.remove(f"{folder}/{name}")
