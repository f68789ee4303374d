"""The sink of the load model: each row lands exactly once.

Rules:
- Rows of a batch are written to a staging folder first, then moved to
  ``load/date=.../part-BATCH-N.parquet``.  A repeated batch has the same rows and replaces its files.
- Files are plain Parquet: any program may read them or delete old days.  While the files of a batch are
  moved, a reader may see only some of its days.
- A merged file, ``load/date=.../merged-BATCH.parquet``, replaces the files of its day up to this batch
  (``maintenance``).  `read_load` skips replaced files that are not deleted yet.
- Each batch of each run has its own staging folder, in case an earlier run that seemed dead still writes.  A
  start removes the staging folders of other runs, whose ``land`` then fails.
- Rows, checkpoint and settings belong together: a token is stored with the rows and with the checkpoint.  If
  the checkpoint is gone or older, or the three do not match, nothing is written.  If only the rows are
  gone, the model goes on and writes new ones.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.forecast.bucket.codec import VERSION
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.pipeline.model.model import BUCKETS
from kafka_assignors.pipeline.tables.checkpoints import LEARN_AGAIN, check_age, check_settings, read_object
from kafka_assignors.pipeline.tables.reading import MERGED
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_assignors.forecast import LoadSettings

CHECKPOINT = "checkpoints/load"
_STAGING = "_staged"
_BATCH = re.compile(rf"/(?:part-|{MERGED})(\d{{9}})(?:-\d+)?\.parquet$")


def read_load(spark: SparkSession, root: str) -> DataFrame:
    """Read the landed rows of ``LOAD``.

    Raises:
        PipelineError: there are no rows, or a column is missing or has another type.
    """
    from pyspark.sql.types import StructType

    if not has_load(spark, root):
        raise PipelineError(f"no load in {root}: run the load model first")
    path = f"{root.rstrip('/')}/load"
    with as_pipeline_error(root):
        rows = spark.read.parquet(path)
        files = set(rows.inputFiles())
        if replaced := replaced_files(files):
            # Spark returns names encoded as in URIs, but expects them decoded.
            rows = spark.read.option("basePath", path).parquet(*sorted(map(unquote, files - replaced)))
    wanted: Any = StructType.fromDDL(LOAD)
    types = dict(rows.dtypes)
    for field in wanted:
        kind, expected = types.get(field.name, "missing"), field.dataType.simpleString()
        if kind != expected:
            raise PipelineError(f"{path}: column {field.name!r} is {kind}, expected {expected}")
    return rows.select(*wanted.names)


def has_load(spark: SparkSession, root: str) -> bool:
    """Return whether any row has landed.  The first step needs two samples, and lands some time after them.

    Raises:
        PipelineError: the folder cannot be read.
    """
    with as_pipeline_error(f"reading {root}"):
        return _has_rows(Storage(spark, root))


def _has_rows(storage: Storage) -> bool:
    return any(name.startswith("date=") for name in storage.folders("load"))


def replaced_files(files: Collection[str]) -> set[str]:
    """Return the files that a merged file replaces and that are not deleted yet."""
    merged: dict[str, str] = {}  # folder -> its newest merged file
    for file in sorted(files):
        folder, _, name = file.rpartition("/")
        if name.startswith(MERGED) and batch_of(file) >= 0:
            merged[folder] = file
    newest = ((file, merged.get(file.rpartition("/")[0], "")) for file in files)
    return {file for file, last in newest if file != last and -1 < batch_of(file) <= batch_of(last)}


def batch_of(name: str) -> int:
    """Return the batch in the name of a file; -1: there is none, because another program wrote the file."""
    match = _BATCH.search(name)
    return -1 if match is None else int(match[1])


def bound_model(storage: Storage) -> dict[str, Any] | None:
    """Return ``token``, ``settings`` and ``writers`` of the folder's model; None: there is none.

    Raises:
        PipelineError: the checkpoint is damaged.
    """
    kinds = {"token": str, "settings": dict, "writers": list}
    return read_object(storage, f"{CHECKPOINT}/_model.json", kinds, LEARN_AGAIN)


class LoadSink:
    """Writes the folder ``load/``."""

    def __init__(self, storage: Storage, settings: LoadSettings, writers: tuple[str, ...]) -> None:
        self.storage = storage
        self._writers = writers
        self._run = uuid.uuid4().hex[:12]
        self._settings = {
            "step_s": settings.step_s,
            "horizon_s": settings.horizon_s,
            "delay_s": settings.delay_s,
            "max_gap_s": settings.max_gap / 1e6,
            "reset": settings.reset,
            "zone": settings.zone,
            "buckets": BUCKETS,
            "state_version": VERSION,
        }

    def bind(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Store one token with the rows and with the checkpoint, or check that they belong together.

        Returns:
            The token; the writers whose samples the model reads, which existed at its first start; and the
            writers added later, which it does not read.
        """
        storage = self.storage
        bound = bound_model(storage)
        rows = read_object(storage, "load/_model.json", {"token": str}, LEARN_AGAIN)
        has_rows = _has_rows(storage)
        if bound is None:
            if rows is not None or has_rows:
                raise PipelineError(
                    f"{storage.root}/load was written with a checkpoint that is gone: {LEARN_AGAIN}"
                )
            if not self._writers:
                raise PipelineError(f"no samples in {storage.root}: record some first")
            bound = {"token": uuid.uuid4().hex, "settings": self._settings, "writers": self._writers}
            storage.write(f"{CHECKPOINT}/_model.json", json.dumps(bound))
        if rows is None and not has_rows:
            rows = {"token": bound["token"]}
            storage.write("load/_model.json", json.dumps(rows))
        if rows is None or rows["token"] != bound["token"]:
            why = "load/ and checkpoints/load are of two models" if rows else "load/_model.json is missing"
            raise PipelineError(f"{storage.root}: {why}: {LEARN_AGAIN}")
        remedy = f"give the old settings, or, {LEARN_AGAIN}"
        check_settings(storage, CHECKPOINT, bound["settings"], self._settings, remedy)
        check_age(storage, CHECKPOINT, "load/", self._newest_landed(), LEARN_AGAIN)
        for folder in storage.folders("load"):
            if folder.startswith(_STAGING):
                storage.remove(f"load/{folder}/mark")  # first: ``land`` lists the rows, then looks for it
                storage.remove(f"load/{folder}")
        names = tuple(bound["writers"])
        return bound["token"], names, tuple(name for name in self._writers if name not in names)

    def land(self, rows: DataFrame, batch: int) -> None:
        """Land the rows of a batch, and replace those of an earlier attempt.

        A file that does not land is an error, and stays in the staging folder.
        """
        storage, staging = self.storage, f"load/{_STAGING}-{batch:09d}-{self._run}"
        # If another run removes the staging folder while Spark writes, Spark makes it again, without this.
        storage.make(f"{staging}/mark")
        (
            rows.repartition("date")
            .sortWithinPartitions("date", "group", "topic", "partition", "time")
            .write.mode("overwrite")
            .partitionBy("date")
            .parquet(storage.at(f"{staging}/rows"))
        )
        staged = storage.files(f"{staging}/rows/date=*/*.parquet")
        if not storage.has(f"{staging}/mark"):
            raise PipelineError(f"{storage.root}: another run has removed {staging}")
        days = [name.split("/")[3] for name in staged]
        targets = [f"load/{day}/part-{batch:09d}-{number}.parquet" for number, day in enumerate(days)]
        # A repeated batch has the same rows, so its files are in the same folders.
        landed = f"load/{{{','.join(days)}}}/part-{batch:09d}-*.parquet"
        for old in storage.files(landed):
            if old not in targets:
                storage.remove(old)
        for name, target in zip(staged, targets, strict=True):
            storage.move(name, target)
        # The staging folder may hold the only copy, and Spark does not repeat a batch once this has returned.
        if missing := set(targets).difference(storage.files(landed)):
            raise PipelineError(f"{storage.root}: {min(missing)} did not land")
        storage.remove(staging)

    def _newest_landed(self) -> int:
        """Return the newest batch with a file in the newest day; -1: no file has a batch in its name."""
        day = max(self.storage.folders("load"), default="")  # ``date=`` sorts after the staging folders
        return max(map(batch_of, self.storage.files(f"load/{day}/*.parquet")), default=-1)
