"""Pure: what the page says of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from demo.pipeline.results import CalibrationResult, ForecastResult, PipelineResult
from demo.pipeline.words import beside, forecasts, plans, recorded_in_all
from demo.report.pipeline_figures import hours
from kafka_assignors.pipeline.backtest.page import all_figures, course, recommendation
from kafka_assignors.pipeline.backtest.phrases import verdict
from kafka_assignors.pipeline.backtest.results import Results as BacktestResults
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import card, name
from kafka_assignors.report.palette import NO_OWNER
from kafka_assignors.report.rows import seconds

_RUNS = {"replay": "the replay", "backlog": "the backlog"}


def title(pipeline: PipelineResult) -> str:
    """Say what came out of it."""
    if pipeline["backtest"]:
        return f"What the pipeline recommends: {_first_down(verdict(pipeline['backtest']))}"
    return "What the pipeline recorded"


def part(pipeline: PipelineResult, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    """Write the part of the page; its figures are added to ``drawn``."""
    parts = [_header(pipeline), _recorded(pipeline, colours)]
    if pipeline["backtest"]:
        parts.append(_backtest(pipeline["backtest"], colours, drawn))
    parts.append(_calibration(pipeline["calibration"], colours))
    if pipeline["forecast"]:
        parts.append(_forecast(pipeline["forecast"], drawn))
    parts.append(_method(pipeline))
    return "\n".join(filter(None, parts))


def with_candidates(
    pipeline: PipelineResult | None, colours: Mapping[str, str], free: Sequence[str]
) -> dict[str, str]:
    """Give the candidates of the back-test colours, too; those that ran keep theirs.

    Args:
        pipeline: what it made of the runs.
        colours: strategy -> colour.
        free: colours for others; when there are no more, they are grey.
    """
    found, more = dict(colours), iter(free)
    backtest = pipeline and pipeline["backtest"]
    for one in backtest["candidates"] if backtest else ():
        if one["candidate"] not in found:
            found[one["candidate"]] = next(more, NO_OWNER)
    return found


def _header(pipeline: PipelineResult) -> str:
    fault = pipeline["fault"]
    wrong = f'<p class="lead"><b>It failed. {escape(fault)}</b></p>' if fault else ""
    said = f'<p class="lead">{escape(recorded_in_all(pipeline))}</p>' if pipeline["recorded"] else ""
    took = ", ".join(f"{step} {time:.0f} s" for step, time in pipeline["seconds"].items())
    return f"""<header><p class="eyebrow">The pipeline</p><h1>{escape(title(pipeline))}</h1>{wrong}{said}
<p class="note">Spark in the demo's own process · {escape(took) or "nothing was done"}</p></header>"""


def _recorded(pipeline: PipelineResult, colours: Mapping[str, str]) -> str:
    if not pipeline["recorded"]:
        return ""
    lines = "".join(
        _line(
            _RUNS[one["scene"]],
            name(one["strategy"], colours),
            *(f"{one[key]:,}" for key in ("commits", "ends", "produced", "committed", "steps")),
        )
        for one in pipeline["recorded"]
    )
    return f"""<section><h2>Recorded</h2><p>Each run had a group and a topic of its own. Both are deleted by
now; what the group committed is still in the broker's log.</p>
{_table(("commits", "ends of logs", "records produced", "committed", "steps of load"), lines)}</section>"""


def _backtest(backtest: BacktestResults, colours: Mapping[str, str], drawn: dict[str, Figure]) -> str:
    courses = [
        course(f"tried-{place}", plot, colours, drawn, f"Tried out on {_RUNS[plot['group']]}")
        for place, plot in enumerate(backtest["plots"])
    ]
    return "\n".join((recommendation(backtest, colours), all_figures(backtest, colours), *courses))


def _calibration(runs: Sequence[CalibrationResult], colours: Mapping[str, str]) -> str:
    if not runs:
        return ""
    lines = "".join(_line(_RUNS[one["scene"]], name(one["strategy"], colours), *_beside(one)) for one in runs)
    heads = ("drain measured", "simulated", "difference", "moved, measured", "simulated", "difference")
    return f"""<section><h2>Simulated, and measured</h2><p>How true is a back-test? Each run of this demo once
more, as a simulation: from the owners it began with, as fast as its members were, through the same
churn.</p>{_table(heads, lines)}</section>"""


def _beside(one: CalibrationResult) -> list[str]:
    if one["drain_simulated"] is None or one["moved_simulated"] is None:
        return [
            seconds(one["drain"], 1),
            f"<small>{escape(one['note'])}</small>",
            "",
            f"{one['moved']:,}",
            "",
            "",
        ]
    return [
        seconds(one["drain"], 1),
        seconds(one["drain_simulated"], 1),
        beside(one["drain_simulated"], one["drain"]),
        f"{one['moved']:,}",
        f"{one['moved_simulated']:,}",
        beside(one["moved_simulated"], one["moved"]),
    ]


def _forecast(one: ForecastResult, drawn: dict[str, Figure]) -> str:
    drawn["hours"], plan = hours(one["hours"]), one["plans"]
    errors = _line(
        f"{one['forecasts']:,} forecasts",
        "",
        *map(_number, (one["came"], one["miss"], one["naive_miss"])),
        *map(_ratio, (one["beside_naive"], one["beside_daily"], one["beside_weekly"])),
    )
    planned = "".join(
        _line(what, "", *map(_number, figures))
        for what, figures in (
            ("from lag alone", (plan["lag"], plan["most_lag"], plan["moved_lag"])),
            ("from forecasts", (plan["forecast"], plan["most_forecast"], plan["moved_forecast"])),
        )
    )
    return f"""<section><h2>What will come</h2><p>In the replay a day is over before a model can know of days.
So here it has {one["weeks"]} weeks of the same flights in their own time, {one["records"]:,} records in
{one["partitions"]} partitions, looked at every {one["step_s"] / 60:g} minutes. {escape(forecasts(one))}
The timetable hardly changes from week to week, so the week before is hard to beat; but it has to be over
first, and most traffic is no timetable.</p>
{card("hours", "The last of these weeks, hour by hour")}
<div class="wide">{_table(_ERRORS, errors)}</div></section>
<section><h2>Planned for what will come</h2><p>The {plan["hours"]:,} hours after the first {one["learn"]}
weeks, each planned twice by cooperative-lag-aware, from the same lag and owners: from lag alone, and from lag
and forecasts. {plan["members"]} members read {plan["rate"]:,.0f} records an hour each, so that the busiest
hours need {100 * plan["busy"]:.0f} % of them. {escape(plans(plan))}</p>
{_table(_PLANNED, planned)}</section>"""


_PLANNED = ("largest lag of a member, mean of the hours", "of all hours", "moves an hour")
_ERRORS = (
    "records that come, mean",
    "forecast wrong by",
    "the last hour again",
    "forecast / last hour",
    "forecast / a day ago",
    "forecast / a week ago",
)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _table(heads: Sequence[str], lines: str) -> str:
    cells = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"""<table class="steps"><thead><tr><th></th><th></th>{cells}</tr></thead>
<tbody>{lines}</tbody></table>"""


def _line(what: str, who: str, *cells: str) -> str:
    """One row; ``who`` and the cells are HTML already."""
    values = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th>{escape(what)}</th><td class="who">{who}</td>{values}</tr>'


def _method(pipeline: PipelineResult) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in pipeline["notes"])
    tried = ""
    if pipeline["backtest"]:
        tried = """<li>The back-test has the load of the first run of each scene, as recorded; the others got
the same data. Members, churn, and what rebalances and records cost are the demo's; how fast a member reads
and how long a process takes to start are measured. What differs by less than 15 % does not count as
different.</li>
<li>The whole back-test, with all its figures, is in pipeline/backtest/report.html.</li>"""
    return f"""<section class="method"><h2>How it was done</h2><ul>{notes}
<li>Commits are decoded from the broker's own topic, __consumer_offsets. Where logs ended is what the
producers were told. Both are samples in pipeline/samples, and the load model makes steps of
{pipeline["step_s"]:g} s of them, in pipeline/load: plain Parquet files.</li>{tried}</ul></section>"""


def _first_down(text: str) -> str:
    return text[:1].lower() + text[1:]
