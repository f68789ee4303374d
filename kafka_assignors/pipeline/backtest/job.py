"""The trials of a back-test on Spark, one task each.

The histories are broadcast; a task simulates one scenario and sends figures and a thinned-out series back,
some 10 kB.  What a task sends comes by an accumulator, which Spark applies once for each task of an action,
however often it has to run it, and at once: so results are there while others are still worked on.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.grid import Trial
from kafka_assignors.pipeline.backtest.thinned import thinned
from kafka_assignors.simulation import History, Outcome, Series, simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TrialResult", "run_trials", "try_out"]

_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class TrialResult:
    """What came of a trial.

    Attributes:
        number: of the trial.
        outcome: without its moves and series; None if the trial failed.
        series: thinned out; None if the trial failed.
        error: why it failed, in a line; empty if it did not.
    """

    number: int
    outcome: Outcome | None = None
    series: Series | None = None
    error: str = ""


def try_out(history: History, trial: Trial) -> TrialResult:
    """Simulate one trial.  Whatever it raises becomes its result, so that the others go on."""
    try:
        load = history if trial.scale == 1 else history.scaled(trial.scale)
        outcome = simulate(load, trial.scenario)
    except KafkaAssignorsError as error:
        return TrialResult(trial.number, error=_one_line(str(error)))
    except Exception as error:  # a mistake of ours in one of 1,000 must not take the other 999
        return TrialResult(trial.number, error=_one_line(f"{type(error).__name__}: {error}"))
    return TrialResult(
        trial.number,
        outcome=replace(outcome, moves=(), series=None),
        series=None if outcome.series is None else thinned(outcome.series),
    )


def run_trials(
    spark: SparkSession, histories: Mapping[str, History], trials: Sequence[Trial]
) -> Iterator[TrialResult]:
    """Run the trials on Spark, and yield each result as it comes, in any order.

    Args:
        spark: a session; this package has to be installed where its tasks run.
        histories: by the groups the trials name.
        trials: numbered from 0.

    Raises:
        KafkaAssignorsError: Spark gave up; what was yielded stays true.
    """
    context = spark.sparkContext
    if not trials:
        return
    known = context.broadcast(dict(histories))
    sent: Any = context.accumulator([], cast(Any, _Collected()))

    def run(trial: Trial) -> None:
        sent.add([try_out(known.value[trial.group], trial)])

    tag = f"backtest-{uuid.uuid4().hex}"
    failures: list[Exception] = []

    def work() -> None:
        try:
            context.addJobTag(tag)
            context.parallelize(trials, len(trials)).foreach(run)
        except Exception as error:  # of another thread: raised below
            failures.append(error)

    thread = _inheritable_thread(work)
    thread.start()
    seen = 0
    try:
        while True:
            ended = not thread.is_alive()  # asked before the look: what came until then is seen
            arrived = sent.value[seen:]
            seen += len(arrived)
            yield from arrived
            if ended:
                break
            thread.join(_LOOK_EVERY_S)
    finally:
        if thread.is_alive():  # Ctrl-C, or whoever asked has seen enough
            context.cancelJobsWithTag(tag)
            thread.join()
        known.destroy()
    if failures:
        raise KafkaAssignorsError(
            f"Spark gave up after {seen:,} of {len(trials):,} scenarios: {_one_line(str(failures[0]))}"
        ) from failures[0]
    if seen != len(trials):
        raise KafkaAssignorsError(f"Spark returned {seen:,} results of {len(trials):,} scenarios")


class _Collected:
    """What an accumulator has to know of lists (pyspark's ``AccumulatorParam``)."""

    def zero(self, value: list[TrialResult]) -> list[TrialResult]:
        """Return nothing."""
        return []

    def addInPlace(self, value1: list[TrialResult], value2: list[TrialResult]) -> list[TrialResult]:
        """Return both."""
        value1.extend(value2)
        return value1


def _inheritable_thread(work: Callable[[], None]) -> threading.Thread:
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=work, daemon=True)
    return thread


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
