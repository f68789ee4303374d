"""Where the load model's rows land, each exactly once.

Rules:
- A batch's rows are written aside first, then moved to ``load/date=.../part-BATCH-N.parquet``.  A batch that
  comes again, because it was interrupted anywhere on the way, has the same rows and replaces its files.
- Files are plain Parquet: any program may read them, merge small ones or delete old days.  A reader may see
  a batch while it is moved, some of its days sooner than others.
- Aside is a folder of the batch and of this run: a run that was taken for dead and is not has its own.
- Rows, checkpoint and settings belong together; a token that is kept with both says so.  Where one of them
  was lost or is another's, nothing is written.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.faults import one_line
from kafka_assignors.pipeline.tables.schemas import LOAD
from kafka_assignors.pipeline.tables.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_assignors.forecast import LoadSettings

__all__ = ["CHECKPOINT", "LoadSink", "has_load", "read_load"]

CHECKPOINT = "checkpoints/load"
_ASIDE = "_staged"
_LEARN_AGAIN = "to learn anew from all samples, remove load/ and checkpoints/load"


def read_load(spark: SparkSession, root: str) -> DataFrame:
    """Rows of ``LOAD`` that have landed.

    Raises:
        PipelineError: there are none.
    """
    if not has_load(spark, root):
        raise PipelineError(f"no load in {root}: run the load model first")
    return spark.read.schema(LOAD).parquet(f"{root}/load")


def has_load(spark: SparkSession, root: str) -> bool:
    """Whether any row has landed; the first step needs two samples, and is told only some time after it.

    Raises:
        PipelineError: the folder cannot be looked into.
    """
    with one_line(f"looking into {root}"):
        return any(name.startswith("date=") for name in Storage(spark, root).folders("load"))


class LoadSink:
    """The folder ``load/`` and what is bound to it.

    Args:
        storage: the pipeline's folder.
        settings: of the model.
        writers: of samples, that there are.
    """

    def __init__(self, storage: Storage, settings: LoadSettings, writers: tuple[str, ...]) -> None:
        self._storage = storage
        self._writers = writers
        self._run = uuid.uuid4().hex[:12]
        self._settings = {
            "step_s": settings.step_s,
            "horizon_s": settings.horizon_s,
            "delay_s": settings.delay_s,
            "max_gap_s": settings.max_gap / 1e6,
            "reset": settings.reset,
        }

    def bind(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Bind rows and checkpoint to each other, or see that they are.

        Returns:
            The writers whose samples the model reads: all there were when it began; and those that came
            later, which it does not.

        Raises:
            PipelineError: no samples yet; or rows, checkpoint or settings do not belong together.
        """
        storage = self._storage
        there = self._writers
        bound = self._kept(f"{CHECKPOINT}/_model.json", {"token": str, "settings": dict, "writers": list})
        rows = self._kept("load/_model.json", {"token": str})
        has_rows = any(name.startswith("date=") for name in storage.folders("load"))
        if bound is None:
            if rows is not None or has_rows:
                raise PipelineError(
                    f"{storage.root}/load was written with a checkpoint that is gone: {_LEARN_AGAIN}"
                )
            if not there:
                raise PipelineError(f"no samples in {storage.root}: record some first")
            bound = {"token": uuid.uuid4().hex, "settings": self._settings, "writers": there}
            storage.write(f"{CHECKPOINT}/_model.json", json.dumps(bound))
        if rows is None and not has_rows:
            rows = {"token": bound["token"]}
            storage.write("load/_model.json", json.dumps(rows))
        if rows is None or rows["token"] != bound["token"]:
            raise PipelineError(
                f"{storage.root}: load/ and checkpoints/load are of two models: {_LEARN_AGAIN}"
            )
        if bound["settings"] != self._settings:
            changed = ", ".join(
                f"{name} was {bound['settings'].get(name)}, not {value}"
                for name, value in self._settings.items()
                if bound["settings"].get(name) != value
            )
            raise PipelineError(f"{storage.root}: {changed}: {_LEARN_AGAIN}")
        for left in storage.folders("load"):
            if left.startswith(_ASIDE):
                storage.remove(f"load/{left}")
        writers = tuple(bound["writers"])
        return writers, tuple(name for name in there if name not in writers)

    def land(self, rows: DataFrame, batch: int) -> None:
        """Put the rows of a batch where they belong, in place of what an earlier attempt left.

        Raises:
            PipelineError: they could not all be put there; what was not is still aside.
        """
        aside = f"load/{_ASIDE}-{batch:09d}-{self._run}"
        (
            rows.repartition("date")
            .sortWithinPartitions("date", "group", "topic", "partition", "time")
            .write.mode("overwrite")
            .partitionBy("date")
            .parquet(self._storage.at(aside))
        )
        staged = self._storage.files(f"{aside}/date=*/*.parquet")
        wanted = {
            name: f"load/{name.split('/')[2]}/part-{batch:09d}-{place}.parquet"
            for place, name in enumerate(staged)
        }
        # A batch that is done again has the same rows, so they lie in the same folders: no need to list more.
        folders = sorted({to.rpartition("/")[0] for to in wanted.values()})
        for left in self._landed(batch, folders):
            if left not in wanted.values():
                self._storage.remove(left)
        for name, to in wanted.items():
            self._storage.move(name, to)
        # Aside may be the only copy, and Spark forgets the batch when this is done.
        there = self._landed(batch, folders)
        if left_out := set(wanted.values()).difference(there):
            raise PipelineError(f"{self._storage.root}: {min(left_out)} did not land")
        self._storage.remove(aside)

    def _landed(self, batch: int, folders: Iterable[str]) -> list[str]:
        """What is there of a batch in these folders."""
        return [
            name for folder in folders for name in self._storage.files(f"{folder}/part-{batch:09d}-*.parquet")
        ]

    def _kept(self, name: str, kinds: dict[str, type]) -> dict[str, Any] | None:
        """What was kept of the model in a file; None without one."""
        text = self._storage.read(name)
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(n), kinds[n]) for n in kinds):
            raise PipelineError(f"{self._storage.root}/{name} is damaged, or no file of ours: {_LEARN_AGAIN}")
        return found
