"""Runs of the demo as the pipeline gets them, from logs made by hand, and its results."""

from __future__ import annotations

from demo.group.logs import RunLogs
from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.results import PipelineResult, RecordedResult
from demo.settings import Compared
from kafka_assignors.pipeline.backtest.results import CandidateResult, LineResult
from kafka_assignors.pipeline.backtest.results import Results as BacktestResults
from tests.unit.demo.story import S, eager_join, uneven_backlog
from tests.unit.pipeline.backtest.trials import small_results

EPOCH_S = 1_000_000
"""When the logs' clock was 0, in seconds since 1970."""


def finished_run(
    scene: Compared = "backlog", strategy: str = "range", logs: RunLogs | None = None
) -> FinishedRun:
    logs = logs or (uneven_backlog() if scene == "backlog" else eager_join())
    return FinishedRun(scene, strategy, f"demo-{scene}-{strategy}", logs, EPOCH_S * S)


def recorded(scene: str = "backlog", strategy: str = "range", produced: int = 50) -> RecordedResult:
    return RecordedResult(
        scene=scene,
        strategy=strategy,
        group=f"demo-{scene}-{strategy}",
        commits=1_234,
        ends=56,
        produced=produced,
        committed=produced,
        steps=42,
        arrived=produced,
    )


def backtest(*names: str) -> BacktestResults:
    """The back-test of one scene, in which these candidates won in this order."""
    result = small_results()
    example: CandidateResult = {
        **result["candidates"][0],
        "drain_s": 6.0,
        "largest_lag": 50.0,
        "time_lag_p99": 5.0,
        "moved": 1.0,
        "pause_s": 0.2,
    }
    candidates: list[CandidateResult] = [
        {**example, "candidate": name, "strategy": name.partition(" ")[0], "place": place}
        for place, name in enumerate(names, 1)
    ]
    [plot, *_] = result["plots"]
    lines: list[LineResult] = [{**plot["lines"][0], "candidate": name} for name in names]
    return {
        **result,
        "candidates": candidates,
        "by_group": [{**result["by_group"][0], "group": "backlog", "candidates": candidates}],
        "plots": [{**plot, "group": "backlog", "lines": lines}],
    }


def pipeline(*names: str) -> PipelineResult:
    """All went well, of one run of range."""
    return PipelineResult(
        fault="",
        notes=[],
        seconds={"record": 5.0},
        step_s=0.5,
        read=2_000,
        recorded=[recorded()],
        backtest=backtest(*(names or ("cooperative-lag-aware (load=forecast)", "range", "sticky"))),
    )
