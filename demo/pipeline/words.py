"""Pure: the pipeline's results in plain words, for terminal and page."""

from __future__ import annotations

from demo.pipeline.results import PipelineResult


def recorded_in_all(pipeline: PipelineResult) -> str:
    """Return the recorded load and its back-test, in a sentence or two."""
    rows = pipeline["recorded"]
    commits, ends, steps = (sum(row[key] for row in rows) for key in ("commits", "ends", "steps"))
    groups = f"{len(rows):,} group" + "s" * (len(rows) != 1)
    text = (
        f"Spark has read {commits:,} commits of {groups} out of the broker's own topic, taken over {ends:,} "
        f"ends of logs, and made {steps:,} steps of load from them."
    )
    if backtest := pipeline["backtest"]:
        text += (
            f" On this load it has tried {len(backtest['candidates'])} candidates: all strategies that "
            f"share the work, whether they ran here or not."
        )
    return text
