"""Pure: the pipeline's results in plain words, for terminal and page."""

from __future__ import annotations

from kafka_assignors.demo.pipeline.results import PipelineResult

__all__ = ["beside", "recorded_in_all"]


def recorded_in_all(pipeline: PipelineResult) -> str:
    """What was recorded, and what was made of it, in a sentence or two."""
    rows = pipeline["recorded"]
    commits, ends, steps = (sum(one[key] for one in rows) for key in ("commits", "ends", "steps"))
    said = (
        f"Spark has read {commits:,} commits of {len(rows)} groups out of the broker's own topic, taken over "
        f"{ends:,} ends of logs, and made {steps:,} steps of load of them."
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
