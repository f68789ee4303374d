"""Pure: whether the pipeline has recorded what was measured beside it."""

from __future__ import annotations

from collections.abc import Mapping

from demo.pipeline.results import PipelineResult
from demo.results import DrainResult, StrategyResult


def pipeline_faults(
    pipeline: PipelineResult, runs: Mapping[tuple[str, str], StrategyResult | DrainResult]
) -> list[str]:
    """Say, one by one, what must not be: a pipeline that failed, records or commits it does not know of.

    Args:
        pipeline: its results.
        runs: what was measured, by scene and strategy.
    """
    found = [f"the pipeline: {pipeline['fault']}"] if pipeline["fault"] else []
    for one in pipeline["recorded"]:
        run = runs[one["scene"], one["strategy"]]
        name = f"the pipeline, {one['scene']} of {one['strategy']}"
        if one["produced"] != run["produced"]:
            found.append(f"{name}: {one['produced']:,} of {run['produced']:,} records recorded")
        # One that was not drained in time is dismissed in the middle of its work.
        if one["committed"] != run["processed"] and not run["fault"]:
            found.append(f"{name}: {one['committed']:,} of {run['processed']:,} records committed")
        if one["arrived"] != run["produced"]:
            found.append(f"{name}: {one['arrived']:,} of {run['produced']:,} records in the load model")
    if pipeline["backtest"]:
        found += [f"the pipeline, back-test: {failure}" for failure in pipeline["backtest"]["failures"]]
    return found
