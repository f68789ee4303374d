"""``make demo``: real data through a real group, once per strategy, and compared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource
from rich.console import Console

from demo.compare import compare, faults, prepare
from demo.results import Results
from demo.settings import DEFAULT_CHURN, DEFAULT_SCENES, DEFAULT_STRATEGIES, SCENES, Scene, Settings
from demo.view.live import Picture, View
from demo.view.table import summary
from kafka_assignors.broker import Backend, DevelopmentBroker, Progress, development_broker
from kafka_assignors.cli.common import sigterm_as_interrupt
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, OptionError
from kafka_assignors.simulation import churn
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.validators import is_port

_POSITIVE = click.FloatRange(min=0, min_open=True)
_DEFAULTS = Settings()
_COMPARED: tuple[Scene, ...] = ("replay", "backlog")
_ONLY_IN: dict[str, tuple[Scene, ...]] = {
    **dict.fromkeys(("speed", "duration", "churn"), ("replay",)),
    "backlog": ("backlog",),
    "flights": ("failover",),
    **dict.fromkeys(("strategy", "consumers", "partitions", "work-ms", "warm-up-ms", "pipeline"), _COMPARED),
}
_BROKER_END_S = 1.0  # to wait for the end of the broker after its clients have failed


def _read_churn(ctx: click.Context, param: click.Parameter, value: str) -> tuple[churn.ChurnStep, ...]:
    try:
        return churn.parse_churn(value)
    except OptionError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _read_bootstrap(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    for address in (value or "").split(",") if value is not None else ():
        host, _, port = address.strip().rpartition(":")
        if not (host and is_port(port)):
            raise click.BadParameter(f"{address!r} is not HOST:PORT", ctx, param)
    return value


def _refuse_options_of_other_scenes(scenes: tuple[Scene, ...]) -> None:
    """Refuse options without an effect."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        in_scenes = _ONLY_IN.get(parameter.opts[0].removeprefix("--"), scenes)
        is_given = ctx.get_parameter_source(str(parameter.name)) is not ParameterSource.DEFAULT
        is_off = ctx.params[str(parameter.name)] is False  # --no-pipeline is right for all scenes
        if is_given and not is_off and not set(in_scenes) & set(scenes):
            where = " and the ".join(in_scenes)
            raise click.UsageError(
                f"{parameter.opts[0]} goes with the {where}, not with {' and '.join(scenes)} alone"
            )


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _option(name: str, kind: Any, text: str, **more: Any) -> Callable[[Decorated], Decorated]:
    """Return a click option with the name and the default of a setting."""
    default = getattr(_DEFAULTS, name.replace("-", "_"))
    return click.option(f"--{name}", type=kind, default=default, help=text, **more)


@click.command("demo", context_settings={"show_default": True})
@click.option(
    "--scene",
    "given_scenes",
    multiple=True,
    type=click.Choice(list(SCENES)),
    help="The replay, with members that come and go; the backlog, drained by members that stay; the "
    "failover, of members with state (two to three minutes).  Give it several times for several.  "
    f"[default: {', '.join(DEFAULT_SCENES)}]",
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(STRATEGIES)),
    help="A strategy to run, in replay and backlog; give it several times to compare.  "
    f"[default: {', '.join(DEFAULT_STRATEGIES)}]",
)
@_option("consumers", click.IntRange(1, 32), "Members at the start.")
@_option("partitions", click.IntRange(1, 512), "Partitions of the topic.")
@_option("speed", _POSITIVE, "Replay: multiple of real time; 60000 gives about 600 records/s.")
@_option("duration", _POSITIVE, "Replay: its length in seconds, for each strategy.")
@_option(
    "backlog",
    click.IntRange(min=1),
    "Backlog: its size; with 4 members and 4 ms a record, 1000 take a second at least.",
    metavar="RECORDS",
)
@_option(
    "flights",
    click.IntRange(min=100),
    "Failover: flights counted before the first event; its state grows with them.",
    metavar="RECORDS",
)
@click.option(
    "--churn",
    metavar="SCRIPT",
    callback=_read_churn,
    default=DEFAULT_CHURN,
    help="Replay: changes of the group, and after how many seconds; leave and kill take the oldest member.",
)
@_option("work-ms", click.FloatRange(min=0), "Cost of a record: a wait, as for a call to a service.")
@_option("warm-up-ms", click.FloatRange(min=0), "Cost of a gained partition, as for opening local state.")
@click.option(
    "--pipeline/--no-pipeline",
    default=True,
    help="Run Spark after replay and backlog: the pipeline on the recorded load, with a back-test of all "
    "strategies that share the work (under a minute).",
)
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    callback=_read_bootstrap,
    help="A broker to use.  [default: a development broker of its own]",
)
@click.option(
    "--backend",
    type=click.Choice(list(get_args(Backend))),
    default="auto",
    help="Backend of the demo's own broker; auto: Docker if an engine answers, else the jars.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for logs, results.json and report.html; new or empty.  [default: ./out/demo-TIME]",
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table")
def command(
    *,
    given_scenes: tuple[str, ...],
    strategies: tuple[str, ...],
    bootstrap: str | None,
    backend: Backend,
    out: Path | None,
    output: str,
    **others: Any,
) -> None:
    """Put real data through a real group, once per strategy, and compare.

    The flights from New York in 2013, keyed by destination, go through a broker into a group of consumer
    processes.  There are three scenes; replay and backlog run unless --scene names others.

    The replay: flights arrive as they departed, only faster. One member joins, one leaves, one is killed, at
    the same times for each strategy.

    The backlog: flights wait already when the members start, and are unevenly spread. How long does each
    strategy take to drain them, and how long would the best plan take?

    The failover: members count flights in state of their own. One joins, one is killed: how long does each
    task stand still, with standbys and warm-ups, and when its state is restored cold?

    Then the pipeline: Spark records the groups' commits and the arrivals, models the load, and tries all
    strategies that share the work on it, also those that did not run.

    With the defaults it ends within four minutes, with tables and a report to open in a browser.
    """
    scenes = tuple(scene for scene in SCENES if scene in (given_scenes or DEFAULT_SCENES))
    _refuse_options_of_other_scenes(scenes)
    try:
        settings = Settings(scenes=scenes, strategies=strategies or DEFAULT_STRATEGIES, **others)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    folder = out or Path("out") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"  # the user's clock
    prepare(folder, settings)
    with sigterm_as_interrupt(), View(Console(stderr=True)) as view:  # stdout has only the result
        if bootstrap is None:
            view.step("starting the broker")

            def show(progress: Progress) -> None:
                view.show(Picture("the broker", (progress.step,), 0, "", progress.done, progress.total))

            with development_broker(backend, on_progress=show) as broker:
                results = _compare_on(broker, settings, folder, view)
        else:
            view.step(f"using the broker at {bootstrap}")
            results = compare(settings, bootstrap, folder, view, check_broker=lambda: None)
    _show(results, folder, output)
    if messages := faults(results):
        raise KafkaAssignorsError("; ".join(messages))


def _show(results: Results, folder: Path, output: str) -> None:
    report = folder / "report.html"
    if output == "json":
        click.echo(json.dumps(results | {"report": str(report)}))
        return
    console = Console()
    console.print(summary(results))
    console.print(f"report: {report}", soft_wrap=True, highlight=False)


def _compare_on(broker: DevelopmentBroker, settings: Settings, folder: Path, view: View) -> Results:
    """Compare on the demo's own broker; if it ends, raise that instead of the errors of its clients."""

    def check() -> None:
        if not broker.running:
            raise BrokerError(f"the broker ended during the demo: {broker.error_line()}")

    try:
        return compare(settings, broker.bootstrap, folder, view, check)
    except KafkaAssignorsError:
        deadline = time.monotonic() + _BROKER_END_S
        while time.monotonic() < deadline:
            check()
            time.sleep(0.1)
        raise
