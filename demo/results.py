"""The shape of results.json (version 11): measured results, and all data of report and tables.

``strategies`` are the runs of the replay, measured by `measure`; ``backlog`` are those of the backlog,
measured by `measure_drain`.  Either is empty if its scene did not run.  ``failover`` and ``pipeline`` are
None if they did not run, or not yet.

All times are seconds; points in time count from the first record sent in the replay, and from "go" in the
backlog.  Floats are rounded to milliseconds.
"""

from __future__ import annotations

from typing import TypedDict

from demo.failover.results import FailoverResult
from demo.pipeline.results import PipelineResult

VERSION = 11


class HoldResult(TypedDict):
    """A member owned a partition from ``start`` to ``end``."""

    member: str
    partition: int
    start: float
    end: float


class WaitResult(TypedDict):
    """Records of a partition waited from ``start`` to ``end`` because of a rebalance."""

    step: int
    partition: int
    member: str  # the member that processed them then
    start: float
    end: float


class StepResult(TypedDict):
    """One step of the churn and its cost."""

    kind: str
    member: str
    at: float
    settled: float | None  # until the last change of ownership; None: a partition had no owner at the end
    rebalances: int
    moved: int
    least_moves: int
    paused: int  # partitions
    pause_total: float
    pause_p50: float | None  # None: no partition paused
    pause_max: float | None


class LagResult(TypedDict):
    """Records sent and not yet processed at the times ``t``: in total, with no owner, and per owner."""

    t: list[float]
    total: list[int]
    unowned: list[int]
    members: dict[str, list[int]]


class MeasuredRun(TypedDict):
    """The figures of each run, whatever its scene."""

    strategy: str
    produced: int
    processed: int
    lost: int
    duplicates: int
    moved: int
    rebalances: int
    drain: float
    fault: str
    double_owned: int
    owned_at_end: int
    lag: LagResult


class StrategyResult(MeasuredRun):
    """One strategy's run of the replay; `measure` defines each figure."""

    least_moves: int
    paused: int
    pausable: int
    pause_total: float
    pause_p50: float | None
    pause_max: float | None
    end: float
    peak_lag: int
    lateness: float
    steps: list[StepResult]
    waits: list[WaitResult]
    holds: list[HoldResult]
    openings: list[HoldResult]


class DrainResult(MeasuredRun):
    """One strategy's run over the backlog; `measure_drain` defines each figure."""

    largest_load: int
    least_largest: int
    bound: float
    ratio: float | None
    first_idle: float
    largest: list[int]


def run_faults(run: MeasuredRun, partitions: int) -> list[str]:
    """List the faults: not drained, records lost, a partition with no owner at the end, or with two."""
    faults = [run["fault"]] if run["fault"] else []
    if run["lost"]:
        what = "not processed" if run["fault"] else "lost"
        faults.append(f"{run['lost']:,} of {run['produced']:,} records {what}")
    if (unowned := partitions - run["owned_at_end"]) > 0:
        faults.append(f"{unowned} partitions without an owner at the end")
    if run["double_owned"]:
        faults.append(f"{run['double_owned']} times a partition had two owners at once")
    return faults


def runs_of(results: Results) -> dict[tuple[str, str], MeasuredRun]:
    """Return the results of the measured runs, by scene and strategy."""
    runs: dict[tuple[str, str], MeasuredRun] = {
        ("replay", run["strategy"]): run for run in results["strategies"]
    }
    return runs | {("backlog", run["strategy"]): run for run in results["backlog"]}


class SettingsResult(TypedDict):
    """The settings; `Settings` explains each."""

    scenes: list[str]
    continuous: bool  # the members were `ContinuousConsumer`s
    consumers: int
    partitions: int
    speed: float
    duration: float
    churn: str
    backlog: int
    flights: int
    work_ms: float
    warm_up_ms: float
    session_timeout_ms: int
    heartbeat_ms: int
    batch: int
    pipeline: bool


class Results(TypedDict):
    """A whole demo: ``strategies`` and ``backlog`` have one entry for each strategy that ran."""

    version: int
    started: str
    dataset: str
    settings: SettingsResult
    seconds: dict[str, float]  # of each scene and the pipeline, preparations included
    strategies: list[StrategyResult]
    backlog: list[DrainResult]
    failover: FailoverResult | None
    pipeline: PipelineResult | None
