"""The figures of the result tables, for terminal and report, and the terminal's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from demo.failover.results import FailoverResult
from demo.failover.words import ROWS as FAILOVER_ROWS
from demo.failover.words import counted, event_name, megabytes
from demo.failover.words import verdict as failover_verdict
from demo.pipeline.results import PipelineResult
from demo.results import DrainResult, Results, StrategyResult
from demo.view.answer import answer
from kafka_assignors.pipeline.backtest.phrases import ROWS as BACKTEST_ROWS
from kafka_assignors.pipeline.backtest.phrases import for_each_group, reasons, verdict
from kafka_assignors.pipeline.backtest.results import Results as BacktestResults
from kafka_assignors.report.rows import ResultT, Row, in_seconds

ROWS: tuple[Row[StrategyResult], ...] = (
    Row(
        "records processed",
        lambda r: f"{r['processed']:,}",
        "Distinct records that a member worked on and logged.",
    ),
    Row("lost", lambda r: f"{r['lost']:,}", "Records the broker took and no member processed; must be 0."),
    Row(
        "duplicates",
        lambda r: f"{r['duplicates']:,}",
        "Times a record was processed again, because it had not been committed: its member was killed, or "
        "the group was rebalancing and the broker refused the commit.",
    ),
    Row(
        "rebalances",
        lambda r: f"{r['rebalances']:,}",
        "Generations the group went through for the churn. A cooperative group needs two generations to move "
        "a partition away from a live member, and one if the owner is gone.",
    ),
    Row(
        "partitions moved",
        lambda r: f"{r['moved']:,} (least {r['least_moves']:,})",
        "Hand-overs: each time a partition went to another member than its last owner, so a partition that "
        "goes and comes back counts twice; least: those that an even share makes unavoidable.",
    ),
    Row(
        "partitions paused",
        lambda r: f"{r['paused']:,} (of {r['pausable']:,})",
        "Partitions whose records waited because of a rebalance while no member processed any, added up over "
        "the steps; of: all partitions in all steps.",
    ),
    Row(
        "pause total",
        lambda r: in_seconds(r["pause_total"], 1),
        "These pauses added up, in partition-seconds.",
    ),
    Row("pause p50", lambda r: in_seconds(r["pause_p50"]), "The median pause of the partitions that paused."),
    Row(
        "pause max",
        lambda r: in_seconds(r["pause_max"]),
        "The longest pause; after kill -9 it holds the session timeout, which no strategy can shorten.",
    ),
    Row("peak lag", lambda r: f"{r['peak_lag']:,}", "The most records that waited at one moment."),
    Row(
        "drain time",
        lambda r: f"{r['drain']:.1f} s" + (" (unfinished)" if r["fault"] else ""),
        "From the last record sent until the last one was processed for the first time.",
    ),
)

DRAIN_ROWS: tuple[Row[DrainResult], ...] = (
    Row(
        "drain time",
        lambda r: "unfinished" if r["fault"] else f"{r['drain']:.1f} s",
        'From "go", which all members get at once when they have joined and warmed up, until the last record '
        "was processed for the first time.",
        "drain",
    ),
    Row(
        "lower bound",
        lambda r: in_seconds(r["bound"], 1),
        "The time a member needs for the least largest load if a record costs only its work; no plan and no "
        "client can be faster.",
        "bound",
    ),
    Row(
        "times the bound",
        lambda r: "-" if r["ratio"] is None or r["fault"] else f"{r['ratio']:.2f}",
        "Drain time over lower bound; 1.00 cannot be reached: polls, logs and commits take their time too.",
        "times",
    ),
    Row(
        "largest load",
        lambda r: f"{r['largest_load']:,} (least {r['least_largest']:,})",
        'The largest load of a member at "go", in records; least: the mean, or the heaviest partition if '
        "that is more.",
        "largest load",
    ),
    Row(
        "first idle after",
        lambda r: in_seconds(r["first_idle"], 1),
        "When the first member had nothing left to do.",
    ),
    Row("partitions moved", lambda r: f"{r['moved']:,}", 'Hand-overs after "go".', "moved"),
    Row(
        "rebalances",
        lambda r: f"{r['rebalances']:,}",
        'Generations of the group after "go".',
        "rebalances",
    ),
    Row(
        "lost",
        lambda r: f"{r['lost']:,}",
        "Records the broker took and no member processed; must be 0.",
        "lost",
    ),
    Row("duplicates", lambda r: f"{r['duplicates']:,}", "Times a record was processed again."),
)

FAILOVER_BRIEF = ("longest", "in all", "usual", "moved", "state", "waited", "balanced", "rounds")
"""Brief names of the figures in the failover's table."""

TRIED = ("#", "drain", "largest lag", "p99", "moved", "pause")
"""Brief names of the figures in the back-test's table."""


def summary(results: Results) -> Group:
    """Build the tables of the scenes that ran, and of the pipeline; the answer comes last."""
    tables: list[Table | Text] = []
    if results["strategies"]:
        tables.append(_replay(results))
    if results["backlog"]:
        tables.append(_backlog(results))
    if results["failover"]:
        tables += _failover(results["failover"])
    if results["pipeline"]:
        tables += _pipeline(results["pipeline"])
    if results["strategies"] or results["backlog"]:
        advice = answer(results)
        tables += [Text(advice.headline, "bold"), *map(Text, advice.sentences)]
    return Group(*tables)


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, padding=0, title=title, title_justify="left", title_style="")


def _replay(results: Results) -> Table:
    """Return a table with a row for each figure and a column for each strategy."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.add_column("")
    for run in results["strategies"]:
        table.add_column(run["strategy"], justify="right", style="bold")
    for row in ROWS:
        table.add_row(row.label, *(row.show(run) for run in results["strategies"]))
    return table


def _brief(title: str, rows: Sequence[Row[ResultT]], results: Iterable[tuple[str, ResultT]]) -> Table:
    """Return a table with a row for each named result and a column for each figure."""
    table = _table(title)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(row.brief, justify="right", style="bold", vertical="bottom")
    for name, result in results:
        table.add_row(name, *(row.show(result).partition(" (")[0] for row in rows))
    return table


def _backlog(results: Results) -> Table:
    records, members = results["backlog"][0]["produced"], results["settings"]["consumers"]
    title = f"a backlog of {records:,} records, {members} members"
    rows = [row for row in DRAIN_ROWS if row.brief]
    return _brief(title, rows, ((run["strategy"], run) for run in results["backlog"]))


def _failover(result: FailoverResult) -> list[Table | Text]:
    """Return a table with a row for each event, and the verdict."""
    title = (
        f"a stateful count fails over: {result['tasks']} tasks, a changelog of {megabytes(result['bytes'])};"
        " time without progress, records"
    )
    rows = [row for row in FAILOVER_ROWS if row.brief in FAILOVER_BRIEF]
    table = _brief(title, rows, ((event_name(event), event) for event in result["events"]))
    return [table, Text(f"{failover_verdict(result)}\n{counted(result)}\n")]


def _pipeline(pipeline: PipelineResult) -> list[Table | Text]:
    """Return the recorded load, a table with a row for each candidate, and the recommendation."""
    parts: list[Table | Text] = []
    if pipeline["recorded"]:
        parts.append(Text(f"the pipeline: {recorded_in_all(pipeline)}\n"))
    if backtest := pipeline["backtest"]:
        parts.append(_tried(backtest))
        parts.append(Text(f"the pipeline recommends: {verdict(backtest)}", "bold"))
        parts += [Text(f"  {reason}") for reason in reasons(backtest)]
        parts += [Text(line) for line in for_each_group(backtest)]
        parts.append(Text())
    return parts


def recorded_in_all(pipeline: PipelineResult) -> str:
    """Return the recorded load and its back-test, in a sentence or two."""
    rows = pipeline["recorded"]
    commits, ends, steps = (sum(row[key] for row in rows) for key in ("commits", "ends", "steps"))
    groups = f"{len(rows):,} group" + "s" * (len(rows) != 1)
    text = (
        f"Spark has read {commits:,} commits of {groups} out of the broker's own topic, added {ends:,} "
        f"ends of logs, and made {steps:,} steps of load from them."
    )
    if backtest := pipeline["backtest"]:
        text += (
            f" On this load it has tried {len(backtest['candidates'])} candidates: all strategies that "
            f"share the work, whether they ran here or not."
        )
    return text


def _tried(backtest: BacktestResults) -> Table:
    table = _table("the back-test: simulated strategies, mean of the scenes; seconds, records")
    place, *rows = [row for row in BACKTEST_ROWS if row.brief in TRIED]
    table.add_column(place.brief, justify="right")
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_column(row.brief, justify="right", style="bold")
    for candidate in backtest["candidates"]:
        cells = (row.show(candidate).replace(" s", "") for row in rows)
        table.add_row(place.show(candidate), candidate["candidate"], *cells)
    return table
