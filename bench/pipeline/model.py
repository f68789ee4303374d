"""``python -m bench.pipeline.model``: how fast the load model is, and how good its forecasts are.

- **Rows/s per core**: a history of samples through `model_load`, three sizes (1x, 10x, 100x), and through the
  stream with its checkpoint, sizes 1x and 10x.
- **Look by look**: the stream with a batch for each look (a sample of every partition), three sizes.  A
  pipeline has up to six looks a batch.  The figures are the median and the longest time from one finished
  batch to the next, and the longest of the first batches, in which all partitions end their first step.
- **Fold**: samples/s of the fold alone, without Spark, three sizes.
- **State**: bytes of a partition, and for a look every 10 s the bytes of them written and the processor time.
- **Forecasts**: the flights of 2013, in steps of a quarter of an hour, beside naive forecasts.

With ``--commits`` looks and state have commits of the offsets topic between two looks, as in a pipeline that
records it.  Batches and fold are printed as a table in Markdown, and so are the forecasts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.machine import machine
from bench.timing import timed
from demo.data.events import find_archive, read_flights
from demo.data.flight_samples import sample_flights
from kafka_assignors.forecast import UNKNOWN, LoadSettings
from kafka_assignors.forecast.bucket import Bucket, Samples, codec
from kafka_assignors.forecast.bucket.steps import concatenated
from kafka_assignors.forecast.scoring import Score
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.pipeline.model.job import run_load_model
from kafka_assignors.pipeline.model.model import model_load
from kafka_assignors.pipeline.model.sink import CHECKPOINT
from kafka_assignors.pipeline.session import local_session
from tests.support.forecast.scores import scored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES = {"1x": 100, "10x": 1_000, "100x": 10_000}
"""Partitions; each with three hours of samples, one every 15 s."""
LOOKS = 720
STREAMED = {"1x": 100, "10x": 1_000}
LOOKED_AT = {"10x": 1_000, "100x": 10_000, "1000x": 100_000}
FOLLOWED = 28
"""Number of samples a partition that the stream gets one by one; the second half is measured."""
HORIZONS = (900, 3600, 21_600)
SETTINGS = LoadSettings(step_s=60, horizon_s=3600)
PARTITIONS = 18  # of the flights, as in the demo


def history(spark: SparkSession, partitions: int, looks: int = LOOKS) -> DataFrame:
    """Return samples of a group, created by Spark."""
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


def with_commits(samples: DataFrame, commits: int) -> DataFrame:
    """Add commits of the offsets topic after each look, 3 s apart."""
    from pyspark.sql import functions as F

    for number in range(1, commits + 1):
        later = F.timestamp_seconds(F.unix_seconds("time") + 3 * number)
        unknown = F.lit(None).cast("bigint")
        only_commits = samples.where("source = 'import'").withColumns(
            {"time": later, "begin_offset": unknown, "end_offset": unknown, "source": F.lit("offsets")}
        )
        samples = samples.unionByName(only_commits)
    return samples


def followed(spark: SparkSession, partitions: int, folder: Path, commits: int) -> dict[str, float]:
    """Model the history as a stream with one look at each partition in each file and batch."""
    root = folder / f"looks-{partitions}"
    place = str(root / "samples" / "bench")
    samples = with_commits(history(spark, partitions, FOLLOWED), commits)
    for look in range(FOLLOWED):
        batch = samples.where(f"(unix_seconds(time) - 1384000200) div 15 = {look}")
        batch.coalesce(1).write.mode("append").partitionBy("date").parquet(place)
    run_load_model(spark, str(root), SETTINGS, available_now=True, files_per_batch=1)
    ended = (root / CHECKPOINT / "commits").glob("[0-9]*")
    ends = sorted(file.stat().st_mtime for file in ended)
    assert len(ends) >= FOLLOWED
    apart = [after - before for before, after in pairwise(ends)]
    half = FOLLOWED // 2  # the first steps end in the first half
    known = apart[half : FOLLOWED - 1]
    return {
        "samples": partitions,
        "seconds": median(known),
        "longest": max(known),
        "first": max(apart[:half]),
    }


def folded(partitions: int) -> tuple[float, float]:
    """Measure the fold alone, 100,000 samples a call.

    Returns:
        Samples/s of a hundred looks, and of the twenty looks before them, the first ones, in which all
        partitions end their first step.
    """
    looks, warm = 120, 20
    number, look = np.tile(np.arange(partitions), looks), np.repeat(np.arange(looks), partitions)
    end = look * (number % 7 + 20) * 15
    time_ = (1_384_000_200 + look * 15) * SECOND
    samples = Samples(number, time_, look * 0, end, np.maximum(end - 500, 0))
    bucket = Bucket(SETTINGS)
    bucket.rows_of([("bench", "topic", partition) for partition in range(partitions)])
    rates = []
    for since, until in ((0, warm * partitions), (warm * partitions, looks * partitions)):
        began = time.process_time()
        for first in range(since, until, 100_000):
            bucket.take(samples.where(slice(first, min(first + 100_000, until))))
        rates.append((until - since) / (time.process_time() - began))
    begun, rate = rates
    return rate, begun


def flights_table(days: float | None) -> list[tuple[int, Score]]:
    """Score the forecasts of flights over all partitions, for each horizon."""
    samples = sample_flights(read_flights(find_archive()), PARTITIONS, every_s=900, days=days)
    return [(horizon, scored(samples, LoadSettings(step_s=900, horizon_s=horizon))) for horizon in HORIZONS]


def error_rows(table: Sequence[tuple[int, Score]]) -> list[str]:
    """Return the table of forecast errors as Markdown."""
    head = (
        "| horizon | forecasts | records in it | MAE | RMSE | naive MAE | naive RMSE | MAE / naive "
        "| MAE / best baseline | within one standard error |"
    )
    rows = [head, "|---" * 10 + "|"]
    for horizon, figures in table:
        cells = [
            f"{horizon // 60} min" if horizon < 3600 else f"{horizon // 3600} h",
            f"{figures.forecasts:,}",
            *(f"{value:.2f}" for value in (figures.came, figures.mae, figures.rmse, figures.naive_mae)),
            *(f"{value:.2f}" for value in (figures.naive_rmse, figures.mase)),
            *(f"{value:.2f}" for value in (figures.beside_best, figures.coverage)),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def look_rows(results: dict[str, Any]) -> list[str]:
    """Return the table of batches and fold as Markdown, with the sizes that were measured."""
    rows = [
        "| partitions | a batch | the longest | of the first | fold, samples/s of one core |",
        "|---:" * 5 + "|",
    ]
    for size, partitions in LOOKED_AT.items():
        if (look := results.get(f"a look {size}")) is not None:
            seconds = " | ".join(f"{look[name]:.1f} s" for name in ("seconds", "longest", "first"))
            fold = results.get(f"fold {partitions}")
            millions = "-" if fold is None else f"{fold / 1e6:.1f} million"
            rows.append(f"| {partitions:,} | {seconds} | {millions} |")
    return rows


def state_size(commits: int) -> tuple[float, float, float]:
    """Measure a partition after a day: bytes of its state, bytes written for a look, seconds of a look."""
    partitions, looks, chance = 100, 8640 + 360, np.random.default_rng(1)
    ends = np.cumsum(chance.integers(0, 100, (looks, partitions)), axis=0)
    stored: dict[str, bytes] = {}
    written, seconds = 0, 0.0
    for look, end in enumerate(ends):
        began = time.process_time()
        bucket = codec.decode(SETTINGS, stored.get)
        row = bucket.rows_of([("bench", "topic", partition) for partition in range(partitions)])
        time_ = (1_384_000_200 + 10 * look) * SECOND + row * 10_000
        several, unknown = [Samples(row, time_, row * 0, end, end * 9 // 10)], row * 0 + UNKNOWN
        for number in range(1, commits + 1):
            later = time_ + 3 * number * SECOND
            several.append(Samples(row, later, unknown, unknown, end * 9 // 10 + number))
        bucket.take(concatenated(several))
        changed = codec.encode(bucket)
        stored |= changed
        if look >= 8640:
            written += sum(map(len, changed.values()))
            seconds += time.process_time() - began
    state = sum(map(len, stored.values()))
    return state / partitions, written / 360 / partitions, seconds / 360 / partitions


def without_spark(days: float | None, commits: int) -> dict[str, Any]:
    """Measure and print state, fold and forecasts."""
    state, written, seconds = state_size(commits)
    results: dict[str, Any] = {"state_bytes": state, "written_bytes": written, "look_seconds": seconds}
    print(f"state: {state:,.0f} bytes a partition; a look writes {written:,.0f} of them, "
          f"and takes {1e6 * seconds:.0f} µs of processor time")  # fmt: skip
    if not days:
        return results
    for partitions in LOOKED_AT.values():
        rate, begun = folded(partitions)
        results[f"fold {partitions}"] = rate
        print(f"fold, {partitions:,} partitions: {rate:,.0f} samples/s, {begun:,.0f} of the first looks")
    table = flights_table(days)
    results["flights"] = {str(horizon): result._asdict() for horizon, result in table}
    print("\n".join(error_rows(table)))
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline.model", description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=[*SIZES, "1000x"], choices=[*SIZES, "1000x"])
    parser.add_argument(
        "--days", type=float, default=365.0, help="of the flights; 0: without flights and fold"
    )
    parser.add_argument(
        "--commits", type=int, default=0, choices=range(4), help="of the offsets topic between two looks"
    )
    parser.add_argument("--only", choices=["at once", "stream", "a look"], help="only this, on Spark")
    parser.add_argument("--cores", type=int, default=1, help="that Spark may use (default 1)")
    parser.add_argument("--out", type=Path, default=Path("out/bench-model.json"), metavar="FILE")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {"machine": machine()}
    if options.only is None:
        results |= without_spark(options.days, options.commits)
    if options.sizes:
        with (
            tempfile.TemporaryDirectory(prefix="bench-model-") as place,
            local_session("load model bench", cores=options.cores, memory="2g") as spark,
        ):
            at_once(spark, 10, Path(place))  # the first call also starts Python's workers
            for size in options.sizes:
                kinds = (
                    ("at once", at_once, SIZES),
                    ("stream", streamed, STREAMED),
                    ("a look", partial(followed, commits=options.commits), LOOKED_AT),
                )
                for kind, measure, sizes in kinds:
                    if size not in sizes or options.only not in (None, kind):
                        continue
                    row = measure(spark, sizes[size], Path(place))
                    row["rows_s_core"] = row["samples"] / row["seconds"] / options.cores
                    results[f"{kind} {size}"] = row
                    longest = f", longest {row['longest']:.1f} s" if "longest" in row else ""
                    print(f"{kind}, {size}: {row['samples']:,} samples, {row['seconds']:.1f} s{longest}, "
                          f"{row['rows_s_core']:,.0f} rows/s a core", flush=True)  # fmt: skip
    print("\n".join(look_rows(results)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
