"""Figures of the replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from demo.report.backlog_figures import lag
from demo.results import HoldResult, Results, StepResult, StrategyResult, WaitResult
from kafka_assignors.report.drawing import Mark, figure, mark
from kafka_assignors.report.palette import INK, NO_OWNER, member_colour, member_number

TIME = "time since the first record (s)"
CHURN_WORDS = {"join": "{} joins", "leave": "{} leaves", "kill": "kill -9 {}"}


def drawn(results: Results) -> dict[str, go.Figure]:
    """Draw all figures of the replay; ownership and lag of each strategy have the same axes."""
    runs, partitions = results["strategies"], results["settings"]["partitions"]
    span = [-1.0, round(max(run["end"] for run in runs) + 1, 1)]
    top = max(1.08 * max(run["peak_lag"] for run in runs), 1)
    figures = {}
    for place, run in enumerate(runs):
        churn = [Mark(step["at"], step_label(step)) for step in run["steps"]]
        figures[f"ownership-{place}"] = mark(ownership(run, partitions, span), churn)
        figures[f"lag-{place}"] = mark(lag(run["lag"], TIME, span, top), churn)
    return figures


def step_label(step: StepResult) -> str:
    """Name a step: ``m5 joins``, ``kill -9 m2``."""
    return CHURN_WORDS[step["kind"]].format(step["member"])


def ownership(run: StrategyResult, partitions: int, span: Sequence[float]) -> go.Figure:
    """Draw a band for each partition: its owners, the times without one, and the times records waited.

    A band is as high as its row; the thin dark line in it marks a pause.
    """
    members = sorted({hold["member"] for hold in run["holds"]}, key=member_number)
    hatched = {"shape": "/", "fgcolor": INK, "size": 5, "solidity": 0.35}
    return figure(
        _bands(_gaps(run, partitions, span[0]), "no owner", NO_OWNER),
        *(
            _bands([hold for hold in run["holds"] if hold["member"] == member], member, member_colour(member))
            for member in members
        ),
        _bands(run["openings"], "warming up", "rgba(255,255,255,0.25)", marker_pattern=hatched),
        _bands(run["waits"], "waiting", INK, width=0.22),
        height=max(300, 150 + 19 * partitions),
        legend_entrywidth=72,
        barmode="overlay",
        xaxis={"title_text": TIME, "range": span},
        yaxis={
            "title_text": "partition",
            "range": [partitions - 0.4, -0.6],
            "dtick": max(1, partitions // 18),
            "showgrid": False,
        },
    )


def _bands(
    holds: Iterable[HoldResult | WaitResult], name: str, colour: str, *, width: float = 0.86, **look: Any
) -> go.Bar:
    kept = list(holds)
    return go.Bar(
        orientation="h",
        name=name,
        y=[hold["partition"] for hold in kept],
        base=[hold["start"] for hold in kept],
        x=[round(hold["end"] - hold["start"], 3) for hold in kept],
        width=width,
        marker={"color": colour, "line": {"width": 0}},
        customdata=[[hold["end"], hold["member"]] for hold in kept],
        hovertemplate="partition %{y}: %{customdata[1]}<br>%{base:.2f} to %{customdata[0]:.2f} s",
        **look,
    )


def _gaps(run: StrategyResult, partitions: int, start: float) -> list[HoldResult]:
    """Return the times in which partitions had no owner."""
    gaps = []
    for partition in range(partitions):
        held = sorted((hold["start"], hold["end"]) for hold in run["holds"] if hold["partition"] == partition)
        last = start
        for begin, end in [*held, (run["end"], run["end"])]:
            if last < begin:
                gaps.append(HoldResult(member="no owner", partition=partition, start=last, end=begin))
            last = max(last, end)
    return gaps
