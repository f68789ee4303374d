"""``python -m bench.pipeline.model``: how fast the load model is, and how good its forecasts are.

- **Rows/s per core**: a history of samples through `model_load`, with one core, three sizes (1x, 10x, 100x);
  and through the stream with its checkpoint, sizes 1x and 10x.
- **Look by look**: the stream as it runs from day to day, a batch for each look at all partitions, three
  sizes; the median time from one finished batch to the next.
- **State**: bytes a partition.
- **Forecasts**: the flights of 2013, in steps of a quarter of an hour, beside naive forecasts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.machine import machine
from demo.data.events import find_archive, read_flights
from demo.data.flight_samples import sample_flights
from kafka_assignors.forecast import LoadSettings, Partition, Sample, encode
from kafka_assignors.forecast.scoring import Score, Totals, score, totals
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import CHECKPOINT
from kafka_assignors.pipeline.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES = {"1x": 100, "10x": 1_000, "100x": 10_000}
"""Partitions; each with three hours of samples, one every 15 s."""
LOOKS = 720
STREAMED = ("1x", "10x")
FOLLOWED = 12
"""Number of samples a partition that the stream gets one by one."""
HORIZONS = (900, 3600, 21_600)
SETTINGS = LoadSettings(step_s=60, horizon_s=3600)
PARTITIONS = 18  # of the flights, as in the demo


def history(spark: SparkSession, partitions: int, looks: int = LOOKS) -> DataFrame:
    """Samples of a group, made by Spark."""
    from pyspark.sql import functions as F

    look = F.floor(F.col("id") / partitions)
    time_ = F.timestamp_seconds(F.lit(1_384_000_200) + look * 15)
    end = look * (F.col("partition") % 7 + 20) + F.pmod(F.hash("id"), F.lit(20))
    return (
        spark.range(partitions * looks)
        .withColumn("partition", (F.col("id") % partitions).cast("int"))
        .select(
            time_.alias("time"),
            F.lit("bench").alias("group"),
            F.lit("topic").alias("topic"),
            "partition",
            F.lit(0).cast("bigint").alias("begin_offset"),
            end.alias("end_offset"),
            F.greatest(end - 500, F.lit(0)).cast("bigint").alias("committed_offset"),
            F.lit("import").alias("source"),
            F.to_date(time_).alias("date"),
        )
    )


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def at_once(spark: SparkSession, partitions: int, folder: Path) -> dict[str, float]:
    """Model a whole history from Parquet; discard the results."""
    place = str(folder / f"history-{partitions}")
    history(spark, partitions).write.parquet(place)
    samples = spark.read.parquet(place)
    took = timed(lambda: model_load(samples, SETTINGS).write.format("noop").mode("overwrite").save())
    return {"samples": partitions * LOOKS, "seconds": took}


def streamed(spark: SparkSession, partitions: int, folder: Path) -> dict[str, float]:
    """Model the history as a stream of four batches, with state, checkpoint and landed rows."""
    root = folder / f"stream-{partitions}"
    for quarter in range(4):
        part = history(spark, partitions).where(
            f"unix_seconds(time) >= {1_384_000_200 + quarter * LOOKS // 4 * 15} "
            f"AND unix_seconds(time) < {1_384_000_200 + (quarter + 1) * LOOKS // 4 * 15}"
        )
        part.coalesce(1).write.mode("append").partitionBy("date").parquet(str(root / "samples" / "bench"))
    took = timed(lambda: run_load_model(spark, str(root), SETTINGS, available_now=True, files_per_batch=1))
    return {"samples": partitions * LOOKS, "seconds": took}


def followed(spark: SparkSession, partitions: int, folder: Path) -> dict[str, float]:
    """Model the history as a stream with one sample a partition in each file and batch."""
    root = folder / f"looks-{partitions}"
    place = str(root / "samples" / "bench")
    samples = history(spark, partitions, FOLLOWED)
    for look in range(FOLLOWED):
        batch = samples.where(f"unix_seconds(time) = {1_384_000_200 + look * 15}")
        batch.coalesce(1).write.mode("append").partitionBy("date").parquet(place)
    run_load_model(spark, str(root), SETTINGS, available_now=True, files_per_batch=1)
    commits = (root / CHECKPOINT / "commits").glob("[0-9]*")
    ends = sorted(file.stat().st_mtime for file in commits)
    assert len(ends) >= FOLLOWED
    return {"samples": partitions, "seconds": median(after - before for before, after in pairwise(ends))}


def flights_table(days: float | None) -> list[tuple[int, Score]]:
    """The forecast error table: one score a horizon, over all partitions."""
    samples = sample_flights(read_flights(find_archive()), PARTITIONS, every_s=900, days=days)
    table = []
    for horizon in HORIZONS:
        settings, sums = LoadSettings(step_s=900, horizon_s=horizon), []
        for place in range(PARTITIONS):
            partition = Partition(settings)
            rows, _ = partition.take(samples.of(place))
            sums.append(totals(rows + partition.flush(), settings))
        table.append((horizon, score(Totals(*(sum(column) for column in zip(*sums, strict=True))))))
    return table


def error_rows(table: Sequence[tuple[int, Score]]) -> list[str]:
    """The table as Markdown."""
    head = (
        "| horizon | forecasts | records in it | MAE | RMSE | naive MAE | naive RMSE | MAE / naive "
        "| MAE / a day before | MAE / a week before |"
    )
    rows = [head, "|---" * 10 + "|"]
    for horizon, scored in table:
        cells = [
            f"{horizon // 60} min" if horizon < 3600 else f"{horizon // 3600} h",
            f"{scored.forecasts:,}",
            *(f"{value:.2f}" for value in (scored.came, scored.mae, scored.rmse, scored.naive_mae)),
            *(f"{value:.2f}" for value in (scored.naive_rmse, scored.mase)),
            *(f"{value:.2f}" for value in (scored.beside_daily, scored.beside_weekly)),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def state_size() -> int:
    """Bytes of a partition's state after a month."""
    partition, chance = Partition(SETTINGS), np.random.default_rng(1)
    ends = np.cumsum(chance.integers(0, 100, 12 * 24 * 30)).tolist()
    partition.take(Sample((1_384_000_200 + 300 * n) * SECOND, 0, end, 0) for n, end in enumerate(ends))
    return len(encode(partition))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.model", description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--days", type=float, help="of the flights; by default the whole year")
    parser.add_argument("--cores", type=int, default=1, help="that Spark may use (default 1)")
    parser.add_argument("--out", type=Path, default=Path("out/bench-model.json"), metavar="FILE")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": machine(), "state_bytes": state_size()}
    print(f"state: {found['state_bytes']:,} bytes a partition")
    table = flights_table(options.days)
    found["flights"] = {str(horizon): result._asdict() for horizon, result in table}
    print("\n".join(error_rows(table)))
    if options.sizes:
        with (
            tempfile.TemporaryDirectory(prefix="bench-model-") as place,
            local_session("load model bench", cores=options.cores, memory="2g") as spark,
        ):
            at_once(spark, 10, Path(place))  # the first one also starts Python's workers
            for size in options.sizes:
                kinds = (("at once", at_once), ("stream", streamed), ("a look", followed))
                for kind, measure in kinds:
                    if kind == "stream" and size not in STREAMED:
                        continue
                    row = measure(spark, SIZES[size], Path(place))
                    row["rows_s_core"] = row["samples"] / row["seconds"] / options.cores
                    found[f"{kind} {size}"] = row
                    print(f"{kind}, {size}: {row['samples']:,} samples, {row['seconds']:.1f} s, "
                          f"{row['rows_s_core']:,.0f} rows/s a core", flush=True)  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
