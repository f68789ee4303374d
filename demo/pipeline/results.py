"""The shape of the pipeline's part of results.json; times are seconds, rounded to milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from kafka_assignors.pipeline.backtest.results import Results as BacktestResults

if TYPE_CHECKING:
    from demo.results import MeasuredRun


class RecordedResult(TypedDict):
    """The pipeline's counts of one run, which had a group and a topic of its own."""

    scene: str
    strategy: str
    group: str
    commits: int  # rows of samples/: decoded from the broker's own topic of commits
    ends: int  # rows of samples/: ends of the log, from the producer's acknowledgements
    produced: int  # records, by the last end
    committed: int  # records, by the last commit
    steps: int  # rows of load/
    arrived: int  # records, by load/, and the lag at the start


class PipelineResult(TypedDict):
    """The pipeline's part of the results."""

    fault: str  # empty, or why it stopped; earlier steps' results are there
    notes: list[str]
    seconds: dict[str, float]  # of each step
    step_s: float
    read: int  # records of the broker's topic of commits, other groups' included
    recorded: list[RecordedResult]
    backtest: BacktestResults | None  # as in the results.json of a back-test


def pipeline_faults(pipeline: PipelineResult, runs: Mapping[tuple[str, str], MeasuredRun]) -> list[str]:
    """List the faults: a pipeline that failed, or numbers of records that differ from the measured ones.

    ``runs`` are the measured results, by scene and strategy.
    """
    faults = [f"the pipeline: {pipeline['fault']}"] if pipeline["fault"] else []
    for recorded in pipeline["recorded"]:
        run = runs[recorded["scene"], recorded["strategy"]]
        name = f"the pipeline, {recorded['scene']} of {recorded['strategy']}"
        if recorded["produced"] != run["produced"]:
            faults.append(f"{name}: {recorded['produced']:,} of {run['produced']:,} records recorded")
        # If a run was not drained in time, its members leave before their last commit.
        if recorded["committed"] != run["processed"] and not run["fault"]:
            faults.append(f"{name}: {recorded['committed']:,} of {run['processed']:,} records committed")
        if recorded["arrived"] != run["produced"]:
            faults.append(f"{name}: {recorded['arrived']:,} of {run['produced']:,} records in the load model")
    if pipeline["backtest"]:
        faults += [f"the pipeline, back-test: {failure}" for failure in pipeline["backtest"]["failures"]]
    return faults
