"""Where the load model's rows land, each exactly once.

Rules:
- A batch's rows are written aside first, then moved to ``load/date=.../part-BATCH-N.parquet``.  A batch that
  comes again, because it was interrupted anywhere on the way, has the same rows and replaces its files.
- Files are plain Parquet: any program may read them, merge small ones or delete old days.  A reader may see
  a batch while it is moved, some of its days sooner than others.
- Rows, checkpoint and settings belong together; a token that is kept with both says so.  Where one of them
  was lost or is another's, nothing is written.
- What was late or there already is noted by batch, in ``load/_counts/``.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.spark.schemas import LOAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_assignors.forecast import LoadSettings
    from kafka_assignors.spark.storage import Storage

__all__ = ["CHECKPOINT", "LoadSink", "has_load", "read_load"]

CHECKPOINT = "checkpoints/load"
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
    """Whether any row has landed; the first step needs two samples, and is told only some time after it."""
    from kafka_assignors.spark.storage import Storage

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
        bound, rows = self._noted(f"{CHECKPOINT}/_model.json"), self._noted("load/_model.json")
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
        writers = tuple(bound["writers"])
        return writers, tuple(name for name in there if name not in writers)

    def land(self, rows: DataFrame, batch: int) -> None:
        """Put the rows of a batch where they belong, in place of what an earlier attempt left."""
        aside = "load/_staged"
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
        for left in self._storage.files(f"load/date=*/part-{batch:09d}-*.parquet"):
            if left not in wanted.values():
                self._storage.remove(left)
        for name, to in wanted.items():
            self._storage.move(name, to)
        self._storage.remove(aside)

    def note(self, batch: int, counts: dict[str, int]) -> None:
        """Keep what became of a batch's samples, if there is anything to say."""
        if any(counts.values()):
            self._storage.write(f"load/_counts/{batch:09d}.json", json.dumps(counts))

    def noted(self) -> dict[str, int]:
        """Sum up what was noted since the model began."""
        total: dict[str, int] = {}
        for name in self._storage.files("load/_counts/*.json"):
            for what, number in json.loads(self._storage.read(name) or "{}").items():
                total[what] = total.get(what, 0) + number
        return total

    def _noted(self, name: str) -> Any:
        text = self._storage.read(name)
        return None if text is None else json.loads(text)
