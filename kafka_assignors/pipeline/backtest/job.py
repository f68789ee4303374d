"""The trials of a back-test on Spark, one task each.

Each group is a Spark job with a broadcast of its own history, so a worker has only the history it simulates.
Two jobs run at a time: the second one uses the cores that the last tasks of the first one leave idle.

A task simulates one scenario, and returns its figures and a downsampled series, about 10 kB, through an
accumulator.  Spark applies an accumulator as soon as a task ends, and once even if the task is retried.  So
results arrive while other tasks run.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

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
        outcome: the outcome without moves, time lags and series; None if the trial failed.
        series: the downsampled series; None if the trial failed.
        error: why the trial failed, in one line; empty if it did not.
    """

    number: int
    outcome: Outcome | None = None
    series: Series | None = None
    error: str = ""


def try_out(history: History, trial: Trial) -> TrialResult:
    """Simulate one trial.  An exception becomes its result, so other trials go on."""
    try:
        load = history if trial.scale == 1 else history.scaled(trial.scale)
        outcome = simulate(load, trial.scenario)
    except KafkaAssignorsError as error:
        return TrialResult(trial.number, error=_one_line(str(error)))
    except Exception as error:  # a bug in one of 1,000 trials must not stop the other 999
        return TrialResult(trial.number, error=_one_line(f"{type(error).__name__}: {error}"))
    return TrialResult(
        trial.number,
        outcome=replace(outcome, moves=(), time_lags=np.zeros(0), series=None),
        series=None if outcome.series is None else downsampled(outcome.series),
    )


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
    context = spark.sparkContext
    if not trials:
        return
    results: Any = context.accumulator([], cast(Any, _Collected()))
    by_group: dict[str, list[Trial]] = {}
    for trial in trials:
        by_group.setdefault(trial.group, []).append(trial)
    waiting = iter(by_group.items())  # shared by the threads
    stopped = threading.Event()
    tag = f"backtest-{uuid.uuid4().hex}"
    failures: list[Exception] = []

    def run_group(history: History, of_group: Sequence[Trial]) -> None:
        shared = context.broadcast(history)
        try:
            context.parallelize(of_group, len(of_group)).foreach(
                lambda trial: results.add([try_out(shared.value, trial)])
            )
        finally:
            shared.destroy()

    def work() -> None:
        try:
            context.addJobTag(tag)
            for group, of_group in waiting:
                if stopped.is_set():
                    return
                run_group(histories[group], of_group)
        except Exception as error:  # raised below by the caller's thread
            failures.append(error)

    threads = [_inheritable_thread(work) for _ in range(min(_JOBS, len(by_group)))]
    for thread in threads:
        thread.start()
    seen = 0
    try:
        while True:
            ended = not any(thread.is_alive() for thread in threads)  # before reading, so no result is missed
            arrived = results.value[seen:]
            seen += len(arrived)
            yield from arrived
            if ended or failures:
                break
            for thread in threads:
                thread.join(_POLL_S / _JOBS)
    finally:
        stopped.set()
        for thread in threads:
            while thread.is_alive():  # Ctrl-C, a job failed, or the caller closed the generator
                context.cancelJobsWithTag(tag)  # more than once: a job may begin only now
                thread.join(_POLL_S)
    if failures:
        raise KafkaAssignorsError(
            f"Spark gave up after {seen:,} of {len(trials):,} scenarios: {_one_line(str(failures[0]))}"
        ) from failures[0]
    if seen != len(trials):
        raise KafkaAssignorsError(f"Spark returned {seen:,} results of {len(trials):,} scenarios")


class _Collected:
    """An accumulator of lists (pyspark's ``AccumulatorParam``)."""

    def zero(self, value: list[TrialResult]) -> list[TrialResult]:
        """Return an empty list."""
        return []

    def addInPlace(self, value1: list[TrialResult], value2: list[TrialResult]) -> list[TrialResult]:
        """Concatenate two lists."""
        value1.extend(value2)
        return value1


def _inheritable_thread(work: Callable[[], None]) -> threading.Thread:
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=work, daemon=True)
    return thread


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
