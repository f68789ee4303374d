"""Maintains a recording while streams write it: merges small files, and deletes old days.

A stream of samples writes a file for each batch, and a list of the finished files of the batch in
``_spark_metadata``.  Every tenth list is *compact*: it also has all earlier files, and its name ends with
``.compact``.  Readers and the model's stream see the listed files only.

- A merge, or the removal of old days, is one atomic replacement of the newest compact list.  Readers see the
  small files or the merged one, never both.
- Spark may write the next compact list at that moment, from the old one.  Then the replacement has no effect,
  and a later run repeats it, because every run decides by the lists it finds.
- A file of samples is deleted if no list names it and it is older than a day.  Spark keeps the lists of the
  last hundred batches, so the files of a running reader stay.  A crash only leaves files that no list names.
- A merge must not make the model miss a sample or read it twice.  So only files that the model has read are
  merged.  The name of the merged file contains the model's token.  This model skips the file, and other
  models read it.  Deleting old days does not wait for the model.

The files of ``load/`` have no list.  Those of a past day are merged into one.  Its name has the newest batch,
so `read_load` knows which small files it replaces.  The next run deletes these files.  A batch that Spark may
repeat is not merged.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.background import Background
from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.sink import CHECKPOINT, batch_of, bound_model, replaced_files
from kafka_assignors.pipeline.tables.batch_files import files_of
from kafka_assignors.pipeline.tables.landing import COLUMNS, MERGED, read_files, writers
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.validators import whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_LOG = logging.getLogger(__name__)

FILES = 360
"""The files of today are merged from this number on: one hour of batches every 10 s."""

MOST_LEFT = 24
"""A past day of the load may have this many files: rows that come late do not cost a merge each."""

_ANY_MODEL = "all"
_FIRST_S, _AGAIN_S, _PAUSE_S = 60.0, 60.0, 3600.0
_GRACE = timedelta(days=1)
_STAGING = "_merging-"
_MOST_DAYS = 99_999  # of ``keep_days``, as of ``--keep``
_WHOLE = (1 << 31) - 1  # limit for reading a whole file, bytes
_LAST_BATCHES = 3  # number of the model's last batches that show the newest files it has read
_ORDER = ("group", "topic", "partition", "time")  # compresses best, because neighbouring rows are similar

_Entry = dict[str, Any]  # a line of a list


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
        pause_s = _PAUSE_S
        try:
            if self._run():
                pause_s = _AGAIN_S
            self.down = None
        except KafkaAssignorsError as error:
            _LOG.warning("%s; trying again in %.0f min", error, pause_s / 60)
            self.down = error
        self._background.submit(self._maintain, pause_s)


def maintain(
    spark: SparkSession,
    root: str,
    *,
    keep_days: int | None = None,
    files: int = FILES,
    now: datetime | None = None,
) -> bool:
    """Merge small files of one day of each writer and of the load, and delete days that are too old.

    Args:
        spark: the session.
        root: folder of the pipeline.
        keep_days: number of days of samples and load to keep besides today; None: all.
        files: merge the files of today from this number on; those of a past day are always merged.
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
        with _noted(failures, root):
            listed = _Listed(spark, storage, writer)
            # A writer without lists is an import, or a stream before its first batch.
            _remove_folders(storage, f"samples/{writer}", date.min if listed.lists else first)
            if listed.lists:
                listed.delete_unlisted(now - _GRACE)
                merged |= listed.shorten(first, now.date(), files, failures)
    with _noted(failures, root):
        _remove_folders(storage, "load", first)
        merged |= _merge_load(spark, storage, now.date(), failures)
    if failures:
        raise failures[0]
    return merged


@contextmanager
def _noted(failures: list[KafkaAssignorsError], root: str) -> Iterator[None]:
    """Note an error of the block, because other days and writers can be maintained."""
    try:
        with as_pipeline_error(f"maintenance of {root}"):
            yield
    except KafkaAssignorsError as error:
        failures.append(error)


def _remove_folders(storage: Storage, folder: str, first: date) -> None:
    """Remove the days before ``first``, and the staging folders of interrupted merges."""
    for name in storage.folders(folder):
        is_old = name.startswith("date=") and date.fromisoformat(name.removeprefix("date=")) < first
        if is_old or name.startswith(_STAGING):
            storage.remove(f"{folder}/{name}")


def _merge_load(
    spark: SparkSession, storage: Storage, today: date, failures: list[KafkaAssignorsError]
) -> bool:
    """Merge the files of the load of one day before ``today``; return whether one was merged."""
    for name in replaced_files(storage.files("load/date=*/*.parquet")):
        storage.remove(name)
    landed = storage.newest_batch(f"{CHECKPOINT}/commits")
    for day in storage.folders("load"):
        if day.startswith("date=") and day < f"date={today}":
            files = storage.files(f"load/{day}/*.parquet")
            known = {name: batch for name in files if -1 < (batch := batch_of(name)) <= landed}
            if len(known) > MOST_LEFT:
                with _noted(failures, storage.root):
                    for empty in storage.empty_files(f"load/{day}/*.parquet"):  # Spark silently ignores them
                        raise PipelineError(
                            f"{storage.root}/{empty} is not a complete Parquet file: remove or restore it"
                        )
                    rows = _strictly(spark).schema(LOAD).parquet(*map(storage.at, known)).drop("date")
                    name = f"{MERGED}{max(known.values()):09d}.parquet"
                    _write_one(spark, rows, storage, f"load/{day}/{name}")
                    return True
    return False


def _write_one(spark: SparkSession, rows: DataFrame, storage: Storage, target: str) -> None:
    """Write rows to one file, which is complete and on the disk before it has its name."""
    staging = f"{target.partition('/date=')[0]}/{_STAGING}{uuid.uuid4().hex}"
    ordered = rows.coalesce(1).sortWithinPartitions(*_ORDER)
    options = {"compression": "zstd", "maxRecordsPerFile": "0"}
    ordered.write.options(**options).parquet(storage.at(staging))
    parts = storage.files(f"{staging}/*.parquet")
    if len(parts) != 1 or _strictly(spark).parquet(storage.at(parts[0])).count() != rows.count():
        raise PipelineError(f"{storage.root}/{staging} is not complete: another program has changed it")
    storage.sync(parts[0])
    storage.move(parts[0], target)
    storage.remove(staging)


def _strictly(spark: SparkSession) -> DataFrameReader:
    """Return a reader for which a damaged or missing file is an error, whatever the session's settings."""
    return spark.read.options(ignoreCorruptFiles="false", ignoreMissingFiles="false")


class _Listed:
    """The listed files of a stream that writes samples."""

    def __init__(self, spark: SparkSession, storage: Storage, writer: str) -> None:
        self._spark = spark
        self._storage = storage
        self._writer = writer
        self._folder = f"samples/{writer}"
        self._newest = -1  # batch of the newest compact list; -1: there is none
        self.lists: dict[int, list[_Entry]] = {}  # batch -> the files of its list, the oldest first
        for batch, name in self._names():
            text = storage.read(name, limit=_WHOLE) or ""
            self.lists[batch] = [json.loads(line) for line in text.split("\n")[1:] if line]
            if name.endswith(".compact"):
                self._newest = max(self._newest, batch)

    def delete_unlisted(self, before: datetime) -> None:
        """Delete files that no list names and that were modified before a time."""
        days = [name for name in self._storage.folders(self._folder) if name.startswith("date=")]
        if not days:
            return
        options = {"modifiedBefore": f"{before:%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"}
        folders = [f"{self._storage.root}/{self._folder}/{day}" for day in days]
        old = self._spark.read.schema("time timestamp").options(**options).parquet(*folders).inputFiles()
        listed = {_below_writer(entry["path"]) for entries in self.lists.values() for entry in entries}
        for path in {_below_writer(file) for file in old} - listed:
            self._storage.remove(f"{self._folder}/{path}")

    def shorten(self, first: date, today: date, files: int, failures: list[KafkaAssignorsError]) -> bool:
        """Merge the files of one day, and drop days before ``first`` from the newest compact list.

        Add an error of a day to ``failures``, and merge a later day.  Return whether files were merged.
        """
        if self._newest < 0:
            return False
        entries = self.lists[self._newest]
        kept = [entry for entry in entries if _day(entry) >= first]
        merged: _Entry | None = None
        token, mergeable = self._mergeable()
        for day, of_day in sorted(mergeable.items()):
            if day >= first and (len(of_day) >= files or (day < today and len(of_day) > 1)):
                with _noted(failures, self._storage.root):
                    merged = self._merge(day, of_day, token)
                    paths = {entry["path"] for entry in of_day}
                    index = next(n for n, entry in enumerate(kept) if entry["path"] in paths)
                    kept[index] = merged
                    kept = [entry for entry in kept if entry["path"] not in paths]
                    break
        if kept != entries and self._newest == max(
            batch for batch, name in self._names() if name.endswith(".compact")
        ):
            text = "\n".join(["v1", *(json.dumps(entry, separators=(",", ":")) for entry in kept)])
            self._storage.write(f"{self._folder}/_spark_metadata/{self._newest}.compact", text)
        return merged is not None

    def _mergeable(self) -> tuple[str, Mapping[date, Sequence[_Entry]]]:
        """Return the token for the name of a merged file, and the files that may be merged, by day."""
        entries = self.lists[self._newest]
        token, read = self._read_by_model()
        if read is not None:
            # The model reads files in this order, so all files up to the last one that it has read are read.
            batches = sorted(batch for batch in self.lists if batch >= self._newest)
            paths = [_below_writer(entry["path"]) for batch in batches for entry in self.lists[batch]]
            entries = entries[: max((n + 1 for n, path in enumerate(paths) if path in read), default=0)]
        # A running reader may need the small files, so merge only those that another list still names.
        others = (files for batch, files in self.lists.items() if batch != self._newest)
        kept = {entry["path"] for files in others for entry in files}
        mergeable = defaultdict(list)
        for entry in entries:
            is_merged = _below_writer(entry["path"]).rpartition("/")[2].startswith(MERGED)
            if entry["path"] in kept and not is_merged:
                mergeable[_day(entry)].append(entry)
        return token, mergeable

    def _read_by_model(self) -> tuple[str, set[str] | None]:
        """Return the model's token, and the files of its last batches; None: no model reads this writer."""
        model = bound_model(self._storage)
        if model is None or self._writer not in model["writers"]:
            return _ANY_MODEL, None
        last = self._storage.newest_batch(f"{CHECKPOINT}/commits")
        batches = range(max(0, last - _LAST_BATCHES + 1), last + 1)
        read = (file for batch in batches for file in files_of(self._storage, CHECKPOINT, batch))
        return model["token"], {_below_writer(file) for file in read}

    def _merge(self, day: date, entries: Sequence[_Entry], token: str) -> _Entry:
        """Merge the files of these entries into a new one, and return its entry."""
        storage = self._storage
        rows = read_files(
            self._spark, f"{storage.root}/{self._folder}", [unquote(entry["path"]) for entry in entries]
        )
        name = f"{MERGED}{token}-{uuid.uuid4().hex[:12]}.parquet"
        without_date = rows.select(*(name for name in COLUMNS if name != "date"))
        target = f"{self._folder}/date={day}/{name}"
        _write_one(self._spark, without_date, storage, target)
        path = f"{entries[0]['path'].rpartition('/')[0]}/{name}"
        return {
            **entries[0],
            "path": path,
            "size": storage.size(path),
            "modificationTime": time.time_ns() // 1_000_000,
        }

    def _names(self) -> Iterator[tuple[int, str]]:
        """Yield batch and name of each existing list."""
        for name in self._storage.files(f"{self._folder}/_spark_metadata/[0-9]*"):
            yield int(name.rpartition("/")[2].removesuffix(".compact")), name


def _below_writer(path: str) -> str:
    """Return the last two parts of a file's URI, decoded: the folder of its day, and its name."""
    return "/".join(unquote(path).split("/")[-2:])


def _day(entry: _Entry) -> date:
    return date.fromisoformat(_below_writer(entry["path"]).partition("/")[0].removeprefix("date="))
