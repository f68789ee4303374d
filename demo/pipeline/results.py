"""The shape of the pipeline's part of results.json; times are seconds, rounded to milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from kafka_assignors.pipeline.backtest.results import Results as BacktestResults

if TYPE_CHECKING:
    from demo.results import DrainResult, StrategyResult


class RecordedResult(TypedDict):
    """What the pipeline knows of one run, which had a group and a topic of its own.

    ``commits`` and ``ends`` are rows of samples/: decoded from the broker's own topic of commits, and ends of
    the log, as the producer was told.  ``produced`` and ``committed`` are records, by the last of those.
    ``steps`` are rows of load/, and ``arrived`` is what arrived by them, what waited at the start included.
    """

    scene: str
    strategy: str
    group: str
    commits: int
    ends: int
    produced: int
    committed: int
    steps: int
    arrived: int


class CalibrationResult(TypedDict):
    """One run as it was measured, and as it is simulated; ``note``: why it is not."""

    scene: str
    strategy: str
    drain: float
    drain_simulated: float | None
    moved: int
    moved_simulated: int | None
    note: str


class HoursResult(TypedDict):
    """Records in each hour of a week, all partitions together; ``begins``: seconds since 1970.

    What came, what was forecast when the hour began, and what came in the hour before (the naive forecast).
    """

    begins: int
    came: list[int]
    forecast: list[float]
    naive: list[int]


class PlansResult(TypedDict):
    """Hours that were planned from forecasts, beside the same hours planned from lag alone.

    ``members`` read ``rate`` records an hour each, so that the busiest hours need the part ``busy`` of them.
    What is compared is the largest lag of a member within the hour: in how many of ``hours`` it was smaller
    (``better``), by ``gain`` as a median part; as large (``same``); larger (``worse``), by ``loss``.  The
    rest had hardly any.  ``lag`` and ``forecast`` are its means, ``most_...`` the largest of all hours, and
    ``moved_...`` how many partitions changed hands at the start of an hour, on average.
    """

    members: int
    busy: float
    rate: float
    hours: int
    better: int
    same: int
    worse: int
    gain: float | None
    loss: float | None
    lag: float | None
    forecast: float | None
    most_lag: float | None
    most_forecast: float | None
    moved_lag: float | None
    moved_forecast: float | None


class ForecastResult(TypedDict):
    """The load model on ``weeks`` of flights in their own time, of which it had ``learn`` before the plans.

    Means over ``forecasts`` of one partition and ``horizon_s`` each, in records: ``came``, ``miss`` (mean
    absolute error), ``naive_miss`` of the last horizon again.  ``beside_...``: the mean miss as a multiple of
    that of the naive forecast, of the same time a day, and a week ago; below 1 it is better.
    """

    weeks: int
    learn: int
    partitions: int
    step_s: int
    horizon_s: int
    records: int
    forecasts: int
    came: float | None
    miss: float | None
    naive_miss: float | None
    beside_naive: float | None
    beside_daily: float | None
    beside_weekly: float | None
    hours: HoursResult
    plans: PlansResult


class PipelineResult(TypedDict):
    """What the pipeline made of the runs.

    ``fault`` is empty, or why it stopped; what it had by then is there.  ``seconds`` is how long each step
    took.  ``read`` is how many records of the broker's topic of commits were read, other groups' and other
    kinds included.  ``backtest`` is as in the results.json of a back-test; None: there was none.
    """

    fault: str
    notes: list[str]
    seconds: dict[str, float]
    step_s: float
    read: int
    recorded: list[RecordedResult]
    backtest: BacktestResults | None
    calibration: list[CalibrationResult]
    forecast: ForecastResult | None


def pipeline_faults(
    pipeline: PipelineResult, runs: Mapping[tuple[str, str], StrategyResult | DrainResult]
) -> list[str]:
    """List the faults: a pipeline that failed, records or commits that it lacks.

    Args:
        pipeline: its results.
        runs: measured results, by scene and strategy.
    """
    faults = [f"the pipeline: {pipeline['fault']}"] if pipeline["fault"] else []
    for recorded in pipeline["recorded"]:
        run = runs[recorded["scene"], recorded["strategy"]]
        name = f"the pipeline, {recorded['scene']} of {recorded['strategy']}"
        if recorded["produced"] != run["produced"]:
            faults.append(f"{name}: {recorded['produced']:,} of {run['produced']:,} records recorded")
        # Members of a run that was not drained in time leave in the middle of their work.
        if recorded["committed"] != run["processed"] and not run["fault"]:
            faults.append(f"{name}: {recorded['committed']:,} of {run['processed']:,} records committed")
        if recorded["arrived"] != run["produced"]:
            faults.append(f"{name}: {recorded['arrived']:,} of {run['produced']:,} records in the load model")
    if pipeline["backtest"]:
        faults += [f"the pipeline, back-test: {failure}" for failure in pipeline["backtest"]["failures"]]
    return faults
