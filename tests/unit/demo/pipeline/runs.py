"""Runs of the demo as the pipeline gets them, made of logs made by hand; and what it makes of them."""

from __future__ import annotations

from demo.group.logs import RunLogs
from demo.pipeline.finished_run import FinishedRun
from demo.pipeline.results import (
    PipelineResult,
    RecordedResult,
)
from demo.settings import Compared
from kafka_assignors.pipeline.backtest.results import (
    VERSION,
    CandidateResult,
    GroupRanking,
    GroupResult,
    LineResult,
    PlotResult,
    RunResult,
)
from kafka_assignors.pipeline.backtest.results import Results as BacktestResults
from tests.unit.demo.story import S, eager_join, uneven_backlog

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


def candidate(name: str, place: int) -> CandidateResult:
    return CandidateResult(
        candidate=name,
        strategy=name.partition(" ")[0],
        parameters={},
        place=place,
        reasons=["drained in 6.0 s, 9.0 s for range"],
        scenarios=1,
        failed=0,
        drained=1,
        drain_s=6.0,
        recovery_s=0.0,
        largest_lag=50.0,
        mean_lag=20.0,
        largest_member_lag=30.0,
        time_lag_p50=0.5,
        time_lag_p99=5.0,
        moved=1.0,
        r_score=0.1,
        rebalances=1.0,
        pause_s=0.2,
        intervals={},
    )


def backtest(*names: str) -> BacktestResults:
    return BacktestResults(
        kind="backtest",
        version=VERSION,
        started="2026-01-02T03:04:05+00:00",
        run=RunResult(history="here", cores=2, scenarios=len(names), failed=0, seconds=1.0),
        groups=[
            GroupResult(
                group="backlog",
                topics=1,
                partitions=3,
                starts="2026-01-02T03:04:05+00:00",
                steps=10,
                step_s=0.5,
                records=50,
                unknown=0.0,
                never_known=0,
                appeared=0,
                ended=0,
                service_rate=None,
                forecasts=True,
            )
        ],
        left_out=[],
        candidates=[candidate(name, place) for place, name in enumerate(names, 1)],
        replicates=1,
        judged_by=1,
        notes=[],
        by_group=[
            GroupRanking(
                group="backlog",
                candidates=[candidate(name, place) for place, name in enumerate(names, 1)],
                judged_by=1,
                notes=[],
            )
        ],
        failures=[],
        plots=[
            PlotResult(
                group="backlog",
                load="backlog",
                members=2,
                churn="",
                service_rate=10.0,
                lines=[
                    LineResult(
                        candidate=name, t=[0.0, 6.0], lag=[50, 0], largest_member_lag=[30, 0], time_lag=[0, 0]
                    )
                    for name in names
                ],
                recorded=[(0.5, 50.0), (6.0, 0.0)],
            )
        ],
        scenarios=[],
    )


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
