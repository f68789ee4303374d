"""Pure: the pipeline's results in plain words, for terminal and page."""

from __future__ import annotations

from demo.pipeline.results import ForecastResult, PipelineResult, PlansResult


def recorded_in_all(pipeline: PipelineResult) -> str:
    """What was recorded, and what was made of it, in a sentence or two."""
    rows = pipeline["recorded"]
    commits, ends, steps = (sum(one[key] for one in rows) for key in ("commits", "ends", "steps"))
    groups = _count(len(rows), "group")
    said = (
        f"Spark has read {commits:,} commits of {groups} out of the broker's own topic, taken over {ends:,} "
        f"ends of logs, and made {steps:,} steps of load of them."
    )
    if backtest := pipeline["backtest"]:
        said += (
            f" On this load it has tried {len(backtest['candidates'])} candidates: all strategies that "
            f"share the work, whether they ran here or not."
        )
    return said


def beside(simulated: float, measured: float) -> str:
    """The difference in %: ``+4 %``, ``0 %``; ``-`` beside nothing."""
    if simulated == measured:
        return "0 %"
    if not measured:
        return "-"
    percent = round(100 * (simulated / measured - 1))
    return f"{percent:+d} %" if percent else "0 %"


def forecasts(one: ForecastResult) -> str:
    """How true they are."""
    said = (
        f"Forecasts of the next hour, at every step of {one['weeks']} weeks of flights, are "
        f"{_number(one['miss'])} records wrong of the {_number(one['came'])} that come to a partition; "
        f"the last hour again would be {_number(one['naive_miss'])} wrong."
    )
    if one["beside_naive"] is not None:
        said += f" That is {one['beside_naive']:.2f} times as much"
        more = [
            f"{ratio:.2f} times what the same time {when} ago tells"
            for ratio, when in ((one["beside_daily"], "a day"), (one["beside_weekly"], "a week"))
            if ratio is not None
        ]
        said += "".join(f", {what}" for what in more) + "."
    return said


def plans(one: PlansResult) -> str:
    """What plans from them are worth."""
    said = (
        f"Planned from forecasts, {_count(one['better'], 'hour')} of {one['hours']:,} had a smaller largest "
        f"lag than planned from lag alone"
    )
    said += f" (by {100 * one['gain']:.0f} %, median)" if one["gain"] is not None else ""
    said += f", {_count(one['worse'], 'hour')} a larger one"
    said += f" (by {100 * one['loss']:.0f} %)" if one["loss"] is not None else ""
    said += f", {one['same']:,} the same; on average it was {_number(one['forecast'])} records, not "
    said += f"{_number(one['lag'])}. What that costs: {_number(one['moved_forecast'])} partitions "
    return f"{said}changed hands an hour, and {_number(one['moved_lag'])} by lag alone."


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)
