"""Pure: the pipeline's results in plain words, for terminal and page."""

from __future__ import annotations

from demo.pipeline.results import ForecastResult, PipelineResult


def recorded_in_all(pipeline: PipelineResult) -> str:
    """Return the recorded load and its back-test, in a sentence or two."""
    rows = pipeline["recorded"]
    commits, ends, steps = (sum(one[key] for one in rows) for key in ("commits", "ends", "steps"))
    groups = f"{len(rows):,} group" + "s" * (len(rows) != 1)
    text = (
        f"Spark has read {commits:,} commits of {groups} out of the broker's own topic, taken over {ends:,} "
        f"ends of logs, and made {steps:,} steps of load of them."
    )
    if backtest := pipeline["backtest"]:
        text += (
            f" On this load it has tried {len(backtest['candidates'])} candidates: all strategies that "
            f"share the work, whether they ran here or not."
        )
    return text


def forecasts(one: ForecastResult) -> str:
    """Return the errors of forecasts."""
    text = (
        f"Forecasts of the next hour, at every step of {one['weeks']} weeks of flights, "
        f"miss by {_number(one['miss'])} of the {_number(one['came'])} records that a partition gets; "
        f"repeating the last hour would miss by {_number(one['naive_miss'])}."
    )
    if one["beside_naive"] is not None:
        text += f" The error is {one['beside_naive']:.2f} times that one"
        if one["beside_best"] is not None:
            text += f", {one['beside_best']:.2f} times that of the best of five simple forecasts"
        text += "."
    return text


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
