"""The trials of a back-test on Spark, one task each.

Each group is a Spark job with a broadcast of its own history, so a worker has only the history it simulates.
Two jobs run at a time: the second one uses the cores that the last tasks of the first one leave idle.

A task simulates one scenario, and returns its figures and a downsampled series, about 10 kB, through an
accumulator.  Spark applies an accumulator as soon as a task ends, and once even if the task is retried.  So
results arrive while other tasks run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.simulation import History, Outcome, Series, simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = 300
"""Maximum number of points of a series."""

_POLL_S = 0.2
_JOBS = 2  # Spark jobs at a time


@dataclass(frozen=True, slots=True, eq=False)
class TrialResult:
    """The result of a trial.

    Attributes:
        number: number of the trial.
        outcome: the outcome without moves and time lags, its series downsampled; None if the trial failed.
        error: why the trial failed, in one line; empty if it did not.
    """

    number: int
    outcome: Outcome | None = None
    error: str = ""


def try_out(history: History, trial: Trial) -> TrialResult:
    """Simulate one trial.  An exception becomes its result, so other trials go on."""
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


def run_trials(
    spark: SparkSession, histories: Mapping[str, History], trials: Sequence[Trial]
) -> Iterator[TrialResult]:
    """Run the trials on Spark, and yield each result as it arrives, in any order.

    Args:
        spark: the session; this package must be installed on its executors.
        histories: histories by group.
        trials: the trials, numbered from 0.

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

    def run_group(group: str) -> None:
        context.addJobTag(tag)
        shared = context.broadcast(histories[group])
        try:
            context.parallelize(by_group[group], len(by_group[group])).foreach(
                lambda trial: results.add([try_out(shared.value, trial)])
            )
        finally:
            shared.destroy()

    pool = ThreadPoolExecutor(_JOBS)
    jobs = [pool.submit(inheritable_thread_target(spark)(run_group), group) for group in by_group]
    running, seen = set(jobs), 0
    try:
        while running:
            done, running = wait(jobs, _POLL_S, FIRST_EXCEPTION)  # before reading, so no result is missed
            arrived = results.value[seen:]
            seen += len(arrived)
            yield from arrived
            for error in filter(None, (job.exception() for job in done)):
                raise KafkaAssignorsError(
                    f"Spark gave up after {seen:,} of {len(trials):,} scenarios: {_one_line(str(error))}"
                ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(job.done() for job in jobs):  # Ctrl-C, a job failed, or the caller closed the generator
            context.cancelJobsWithTag(tag)  # more than once: a job may begin only now
            wait(jobs, _POLL_S)
    if seen != len(trials):
        raise KafkaAssignorsError(f"Spark returned {seen:,} results of {len(trials):,} scenarios")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
