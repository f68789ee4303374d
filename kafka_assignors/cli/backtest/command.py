"""``kafka-assignors backtest``: simulates strategies on a recorded history."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafka_assignors.broker import Progress
from kafka_assignors.cli.backtest.options import (
    BY_DEFAULT,
    Parameters,
    parse_moment,
    read_churn,
    read_parameters,
    read_positive,
    read_strategies,
    read_whole,
)
from kafka_assignors.cli.backtest.request import assumptions
from kafka_assignors.cli.backtest.view import backtest_lines, show_scenarios
from kafka_assignors.cli.common import (
    FiniteRange,
    option_as_usage_error,
    output_option,
    sigterm_as_interrupt,
)
from kafka_assignors.cli.pipeline.spark import (
    is_of_spark,
    recording_folder,
    require_spark,
    spark_size_options,
)
from kafka_assignors.cli.plan.notes import print_notes
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.cli.tables import show
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.pipeline.backtest.files import SERIES_NAME, read_series, results_folder, save_results
from kafka_assignors.pipeline.backtest.grid import Grid, Trial, candidates
from kafka_assignors.pipeline.backtest.job import TrialResult, run_trials
from kafka_assignors.pipeline.backtest.recorded import Recorded, missing_times
from kafka_assignors.pipeline.backtest.results import Results, RunResult
from kafka_assignors.pipeline.backtest.summary import summed_up
from kafka_assignors.pipeline.history import read_history
from kafka_assignors.pipeline.session import session
from kafka_assignors.report.page import require_plotly
from kafka_assignors.simulation import ChurnStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = {"service_rate": "--service-rate", "members": "--members", "churn": "--churn", "step_s": "--step"}


@click.command("backtest")
@click.argument("history")
@click.option(
    "--strategies",
    metavar="A,B,...",
    callback=read_strategies,
    is_eager=True,  # parsed before --param, which names their options
    help=f"Strategies to compare; your own as MODULE:CLASS.  [default: {', '.join(BY_DEFAULT)}]",
)
@click.option(
    "--param",
    "parameters",
    metavar="NAME=V1,V2,...",
    multiple=True,
    callback=read_parameters,
    help="Values to try: of an option of a strategy; of load (lag, forecast), rebalance_on_skew (true, "
    "false) or replan_s; or of a time (heartbeat_s, warm_up_s, session_timeout_s, forecast_delay_s, ...).",
)
@click.option(
    "--members",
    metavar="N,M,...",
    callback=read_whole,
    help="Members at the start.  [default: 1.3 times what the mean load needs, at least 2]",
)
@click.option(
    "--recorded-members",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of members while the group was recorded, from which a member's rate follows.",
)
@click.option(
    "--service-rate",
    "service_rates",
    metavar="R,S,...",
    callback=read_positive,
    help="Records/s that one member reads.  [default: from the history]",
)
@click.option(
    "--churn",
    metavar="SCRIPT",
    multiple=True,
    type=read_churn,
    help='Changes of membership, such as join@600,leave@1200,kill@1800 (seconds after the start), or "" '
    "for none; repeat the option to try several.  [default: one of each, evenly spread]",
)
@click.option(
    "--replicates",
    metavar="N",
    type=click.IntRange(1, 500),
    default=1,
    help="Number of draws of the times of each churn, the same for all candidates; above 1, figures get an "
    "interval.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Seed of these draws.",
)
@click.option(
    "--group", "groups", metavar="GROUP", multiple=True, help="A group of the history.  [default: all]"
)
@click.option(
    "--since",
    metavar="TIME",
    type=parse_moment,
    help="Ignore the history before this time; UTC if it has no zone.",
)
@click.option("--until", metavar="TIME", type=parse_moment, help="Ignore the history from this time on.")
@click.option(
    "--scale-arrivals",
    "scales",
    metavar="X,Y,...",
    callback=read_positive,
    help="Factors on the recorded arrivals.  [default: 1]",
)
@click.option(
    "--step",
    "step_s",
    metavar="SECONDS",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    help="Step of the history made from samples, if no load model ran.",
)
@spark_size_options
@click.option(
    "--out",
    metavar="FOLDER",
    help="Folder for the results and report.html, local or a URI for Spark, such as s3a://bucket/backtest; "
    "new or empty, and shared with Spark's workers.  [default: ./out/backtest-TIME]",
)
@output_option
def command(
    *,
    history: str,
    strategies: tuple[str, ...],
    parameters: Parameters,
    members: tuple[int, ...],
    recorded_members: int | None,
    service_rates: tuple[float, ...],
    churn: tuple[tuple[ChurnStep, ...], ...],
    replicates: int,
    seed: int,
    groups: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    scales: tuple[float, ...],
    step_s: float,
    cores: int | None,
    memory: str,
    out: str | None,
    output: str,
) -> None:
    """Try strategies on a recorded history, and recommend one.

    HISTORY is the folder of a pipeline. Each combination of the options is simulated as one task on Spark,
    with the planners that the consumers run.
    """
    if since and until and since >= until:
        raise click.UsageError("--until must be after --since")
    if recorded_members and service_rates:
        raise click.UsageError("--recorded-members has no effect with --service-rate: leave one out")
    if replicates > 1 and churn and not any(churn):
        raise click.UsageError("--replicates draws the times of --churn, and there is none")
    history_folder = recording_folder("HISTORY", history)
    with option_as_usage_error(_option):  # refuses invalid combinations before the history is read
        candidates(strategies, parameters.choices, forecasts=True)
    require_plotly("spark")
    require_spark()
    out = out or f"out/backtest-{datetime.now():%Y%m%d-%H%M%S}"  # local time
    started = datetime.now(timezone.utc)
    with (
        sigterm_as_interrupt(),
        ProgressView() as view,
        tempfile.TemporaryDirectory(prefix="kafka-assignors-backtest-") as scratch,
        session("kafka-assignors backtest", cores=cores, memory=memory, on_progress=view.step) as spark,
        ExitStack() as stack,
    ):
        spark.sparkContext.setLogLevel("FATAL")  # failures are reported in one line, by this command
        # Absolute, because the JVM may have another working directory.
        folder = stack.enter_context(
            results_folder(spark, out if is_of_spark(out) else str(Path(out).absolute()))
        )
        view.step(Progress("reading the history"))
        with option_as_usage_error(_option):
            recorded = read_history(
                spark,
                history_folder,
                groups=groups,
                since=since,
                until=until,
                recorded_members=recorded_members,
                step_s=step_s,
                scratch=Path(scratch),
            )
            histories = [group.history for group in recorded]
            has_forecasts = any(history.expected is not None for history in histories)
            grid = Grid(
                candidates(strategies, parameters.choices, forecasts=has_forecasts),
                members=members,
                churn=tuple(dict.fromkeys(churn)),
                scales=scales or (1.0,),
                service_rates=service_rates or (None,),
                surroundings=parameters.surroundings,
                replicates=replicates,
                seed=seed,
            )
            trials = grid.trials(histories)
        trial_results, seconds = _run(spark, recorded, trials, view, folder.at(SERIES_NAME))
        view.step(Progress("writing the results"))
        run = RunResult(
            history=history,
            cores=spark.sparkContext.defaultParallelism,
            scenarios=len(trials),
            failed=sum(result.outcome is None for result in trial_results),
            seconds=round(seconds, 3),
        )
        results = summed_up(
            recorded,
            trials,
            trial_results,
            run=run,
            started=started,
            read_series=partial(read_series, spark, folder),
            left_out=grid.left_out(histories),
        )
        save_results(spark, folder, results)
    print_notes(missing for group in recorded if (missing := missing_times(group, since, until)))
    print_notes(assumptions(grid, recorded, trials, recorded_members))
    _show(results, f"{out.rstrip('/')}/report.html", output)
    if run["failed"]:
        failed = f"{run['failed']:,} of {run['scenarios']:,} scenarios failed"
        raise KafkaAssignorsError(f"{failed}; {results['failures'][0]}")


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--param {name}")


def _run(
    spark: SparkSession,
    recorded: Sequence[Recorded],
    trials: Sequence[Trial],
    view: ProgressView,
    series_to: str,
) -> tuple[list[TrialResult], float]:
    """Run the trials; return their results in order, and the seconds from start to end."""
    results: dict[int, TrialResult] = {}
    began = time.monotonic()
    show_scenarios(view, 0, len(trials), 0.0)
    histories = {group.history.group: group.history for group in recorded}
    for result in run_trials(spark, histories, trials, series_to=series_to):
        results[result.number] = result
        show_scenarios(view, len(results), len(trials), time.monotonic() - began)
    return [results[trial.number] for trial in trials], time.monotonic() - began


def _show(results: Results, report: str, output: str) -> None:
    if output == "json":
        click.echo(json.dumps({**results, "report": report}))
        return
    show(backtest_lines(results))
    click.echo(f"report: {report}")
