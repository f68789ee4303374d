"""The trials of a back-test on Spark, one task each.

Each group is a Spark job with a broadcast of its own history, so a worker has only the histories that it
simulates.  Two jobs run at a time: the second one uses the cores that the last tasks of the first one leave
idle.

A task simulates one scenario.  It returns the figures through an accumulator, which Spark applies as soon as
the task ends, so results arrive while other tasks run.  Its downsampled series, about 10 kB, stays with the
workers.  They write the series of a group when all tasks of the group have ended.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.pipeline.faults import as_pipeline_error
from kafka_assignors.simulation import History, Outcome, Series, simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = 300
"""Maximum number of points of a series."""

SERIES: dict[str, str] = {
    "scenario": "int32",
    "at_s": "double",
    "lag": "double",
    "largest_member_lag": "double",
    "unowned_lag": "double",
    "time_lag_s": "double",
    "members": "int32",
}
"""Columns of series.parquet, up to `POINTS` rows per scenario, sorted by time."""

_POLL_S = 0.2
_JOBS = 2  # Spark jobs at a time
_SCENARIOS_PER_FILE = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class TrialResult:
    """The result of a trial."""

    number: int  # of the trial
    outcome: Outcome | None = None  # without moves and time lags, its series downsampled; None: it failed
    error: str = ""  # why the trial failed, in one line; empty if it succeeded


def try_out(history: History, trial: Trial) -> TrialResult:
    """Simulate one trial.  An exception becomes the trial's result, so other trials go on."""
    try:
        load = history if trial.scale == 1 else history.scaled(trial.scale)
        outcome = simulate(load, trial.scenario)
    except Exception as error:  # a bug in one of 1,000 trials must not stop the other 999
        kind = "" if isinstance(error, KafkaAssignorsError) else f"{type(error).__name__}: "
        return TrialResult(trial.number, error=_one_line(f"{kind}{error}"))
    series = None if outcome.series is None else downsampled(outcome.series)
    return TrialResult(trial.number, replace(outcome, moves=(), time_lags=np.zeros(0), series=series))


def downsampled(series: Series, points: int = POINTS) -> Series:
    """Keep up to ``points`` points of a series: the first, the last, and the largest lag of each interval.

    A short series is returned unchanged.
    """
    count = len(series.at)
    if count <= points:
        return series
    inner = np.arange(1, count - 1)
    starts = inner[np.searchsorted(inner * (points - 2) // (count - 1), np.arange(points - 2))]
    ends = np.append(starts[1:], count - 1)
    peaks = [start + int(np.argmax(series.lag[start:end])) for start, end in zip(starts, ends, strict=True)]
    indices = np.array([0, *peaks, count - 1])
    return Series(*(getattr(series, field.name)[indices] for field in fields(series)))


def schema(columns: Mapping[str, str]) -> Any:
    """Return the Arrow schema of a table such as `SERIES`."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


def run_trials(
    spark: SparkSession,
    histories: Mapping[str, History],
    trials: Sequence[Trial],
    *,
    series_to: str | None = None,
) -> Iterator[TrialResult]:
    """Run the trials on Spark, and yield each result as it arrives, in any order.

    Args:
        spark: the session; this package must be installed on its executors.
        histories: histories by group.
        trials: the trials, numbered from 0.
        series_to: folder of Parquet files to which the workers write the series (see `SERIES`); the results
            then have none.  None: each result has its series.

    Raises:
        KafkaAssignorsError: Spark gave up.  The results yielded before are valid.
    """
    from pyspark import inheritable_thread_target
    from pyspark.accumulators import AddingAccumulatorParam

    context = spark.sparkContext
    results: Any = context.accumulator([], AddingAccumulatorParam([]))
    by_group: dict[str, list[Trial]] = {}
    for trial in trials:
        by_group.setdefault(trial.group, []).append(trial)
    tag = f"backtest-{uuid.uuid4().hex}"
    writing = threading.Lock()  # Spark's writers to one folder remove each other's unfinished files

    def run_group(group: str) -> None:
        context.addJobTag(tag)
        history, mine = histories[group], by_group[group]
        _simulate_group(spark, history, mine, results=results, series_to=series_to, writing=writing)

    pool = ThreadPoolExecutor(_JOBS)
    jobs = [pool.submit(inheritable_thread_target(spark)(run_group), group) for group in by_group]
    running, read = set(jobs), 0
    seen: set[int] = set()  # Spark may repeat a task, and its result arrives again
    try:
        while running:
            done, running = wait(jobs, _POLL_S, FIRST_EXCEPTION)  # before reading, so no result is missed
            arrived = results.value[read:]
            read += len(arrived)
            for result in arrived:
                if result.number not in seen:
                    seen.add(result.number)
                    yield result
            for error in filter(None, (job.exception() for job in done)):
                with as_pipeline_error(f"Spark gave up after {len(seen):,} of {len(trials):,} scenarios"):
                    raise error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(job.done() for job in jobs):  # Ctrl-C, a job failed, or the caller closed the generator
            with suppress(Exception):  # if Spark has ended, so do the jobs
                context.cancelJobsWithTag(tag)  # more than once: a job may begin only now
            wait(jobs, _POLL_S)
    if len(seen) != len(trials):
        raise KafkaAssignorsError(f"Spark returned {len(seen):,} results of {len(trials):,} scenarios")


def _simulate_group(
    spark: SparkSession,
    history: History,
    trials: Sequence[Trial],
    *,
    results: Any,
    series_to: str | None,
    writing: threading.Lock,
) -> None:
    """Run the trials of one group, one task each; add the results to an accumulator, write the series."""
    from pyspark import StorageLevel
    from pyspark.serializers import CPickleSerializer

    pickled = [CPickleSerializer().dumps(trial) for trial in trials]  # a task unpickles only its own
    shared = spark.sparkContext.broadcast((history, pickled))

    def simulate_each(batches: Iterator[Any]) -> Iterator[Any]:
        history, pickled = shared.value
        for index in (index for batch in batches for index in batch["id"].to_pylist()):
            result = try_out(history, CPickleSerializer().loads(pickled[index]))
            if series_to is not None and result.outcome and result.outcome.series:
                yield _rows(result.number, result.outcome.series)
                result = replace(result, outcome=replace(result.outcome, series=None))
            results.add([result])

    columns = spark.createDataFrame(schema(SERIES).empty_table()).schema
    series = spark.range(0, len(trials), 1, len(trials)).mapInArrow(simulate_each, columns)
    if series_to is not None:
        # A shuffle, not coalesce: few tasks write, but many simulate, also after the loss of an executor.
        files = -(-len(trials) // _SCENARIOS_PER_FILE)
        series = series.repartition(files, "scenario").sortWithinPartitions("scenario", "at_s")
        series.persist(StorageLevel.DISK_ONLY)
    try:
        series.write.format("noop").mode("overwrite").save()
        if series_to is not None:
            with writing:
                series.write.mode("append").parquet(series_to, compression="zstd")
    finally:
        with suppress(Exception):  # if Spark has ended, the block has raised its error
            series.unpersist()
            shared.destroy()


def _rows(number: int, series: Series) -> Any:
    """Return a series as a batch of rows of `SERIES`."""
    import pyarrow as pa

    values = {name: getattr(series, name.removesuffix("_s")) for name in SERIES if name != "scenario"}
    return pa.RecordBatch.from_pydict({"scenario": np.full(len(series.at), number), **values}, schema(SERIES))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
