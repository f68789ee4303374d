"""Merges and deletes the files of a stream of samples, by the lists of files in ``_spark_metadata``."""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.maintenance.merging import noted, write_one
from kafka_assignors.pipeline.model.sink import CHECKPOINT, bound_model
from kafka_assignors.pipeline.tables.batch_files import files_of
from kafka_assignors.pipeline.tables.reading import MERGED, read_files
from kafka_assignors.pipeline.tables.schemas import SAMPLE_COLUMNS
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ANY_MODEL = "all"
_WHOLE = (1 << 31) - 1  # limit for reading a whole file, bytes
_LAST_BATCHES = 3  # number of the model's last batches that are searched for the newest file it has read

_Entry = dict[str, Any]  # a line of a list


class ListedSamples:
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

        If a day fails, add its error to ``failures`` and try the next day.  Return whether a merged file was
        written.  If Spark writes a new compact list meanwhile, the merged file has no effect and is deleted
        later.
        """
        if self._newest < 0:
            return False
        entries = self.lists[self._newest]
        kept = [entry for entry in entries if _day(entry) >= first]
        merged: _Entry | None = None
        token, mergeable = self._mergeable()
        for day, of_day in sorted(mergeable.items()):
            if day >= first and (len(of_day) >= files or (day < today and len(of_day) > 1)):
                with noted(failures, self._storage.root):
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
            # The model reads files in this order, so it has also read every file before the last one in
            # ``read``.
            batches = sorted(batch for batch in self.lists if batch >= self._newest)
            paths = [_below_writer(entry["path"]) for batch in batches for entry in self.lists[batch]]
            entries = entries[: max((n + 1 for n, path in enumerate(paths) if path in read), default=0)]
        # A running reader may need the small files.  Merge only those that another list also names, because
        # `delete_unlisted` keeps them as long as that list exists.
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
        without_date = rows.select(*(name for name in SAMPLE_COLUMNS if name != "date"))
        target = f"{self._folder}/date={day}/{name}"
        write_one(self._spark, without_date, storage, target)
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
