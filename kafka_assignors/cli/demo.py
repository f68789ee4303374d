"""``kafka-assignors demo``: replay real data through a real group, once per strategy, and compare."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

import click
from rich.console import Console

from kafka_assignors.adapter import STRATEGIES
from kafka_assignors.broker import OnProgress, Progress, development_broker
from kafka_assignors.demo import churn
from kafka_assignors.demo.compare import compare, faults
from kafka_assignors.demo.live import LiveView
from kafka_assignors.demo.plain import PlainView
from kafka_assignors.demo.results import Results
from kafka_assignors.demo.settings import DEFAULT_CHURN, DEFAULT_STRATEGIES, Settings
from kafka_assignors.demo.summary import summary
from kafka_assignors.errors import BrokerError, KafkaAssignorsError, OptionError

__all__ = ["command"]

_POSITIVE = click.FloatRange(min=0, min_open=True)
_DEFAULTS = Settings()


def _read_churn(ctx: click.Context, param: click.Parameter, value: str) -> tuple[churn.Step, ...]:
    try:
        return churn.parse(value)
    except OptionError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.command("demo")
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    type=click.Choice(list(STRATEGIES)),
    default=DEFAULT_STRATEGIES,
    show_default=True,
    help="A strategy to run; give it several times to compare.",
)
@click.option("--consumers", type=click.IntRange(1, 32), default=_DEFAULTS.consumers, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 512), default=_DEFAULTS.partitions, show_default=True)
@click.option(
    "--speed",
    type=_POSITIVE,
    default=_DEFAULTS.speed,
    show_default=True,
    help="Multiple of real time; 60000 gives about 600 records/s.",
)
@click.option(
    "--duration",
    type=_POSITIVE,
    default=_DEFAULTS.duration,
    show_default=True,
    help="Seconds of replay per strategy.",
)
@click.option(
    "--churn",
    "steps",
    metavar="SCRIPT",
    callback=_read_churn,
    default=DEFAULT_CHURN,
    show_default=True,
    help="What happens to the group, and after how many seconds; leave and kill take the oldest member.",
)
@click.option(
    "--work-ms",
    type=click.FloatRange(min=0),
    default=_DEFAULTS.work_ms,
    show_default=True,
    help="What one record costs its consumer: a wait, as for a call to a service.",
)
@click.option(
    "--warm-up-ms",
    type=click.FloatRange(min=0),
    default=_DEFAULTS.warm_up_ms,
    show_default=True,
    help="What one really gained partition costs, as for opening its local state.",
)
@click.option(
    "--bootstrap", metavar="HOST:PORT", help="A broker to use.  [default: a development broker of its own]"
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where logs, results.json and report.html go.  [default: ./out/demo-TIME]",
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *,
    strategies: tuple[str, ...],
    consumers: int,
    partitions: int,
    speed: float,
    duration: float,
    steps: tuple[churn.Step, ...],
    work_ms: float,
    warm_up_ms: float,
    bootstrap: str | None,
    out: Path | None,
    output: str,
) -> None:
    """Replay real data through a real group, once per strategy, and compare.

    The flights from New York in 2013, keyed by destination, go through a broker into a group of consumer
    processes. One joins, one leaves, one is killed; every strategy meets the same events at the same times.

    With the defaults it takes about three minutes and ends with a table and a report to open in a browser.
    """
    try:
        settings = Settings(
            strategies=strategies,
            consumers=consumers,
            partitions=partitions,
            speed=speed,
            duration=duration,
            churn=steps,
            work_ms=work_ms,
            warm_up_ms=warm_up_ms,
        )
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    folder = out or Path("out") / f"demo-{datetime.now():%Y%m%d-%H%M%S}"  # the user's clock
    with _orderly_end(), _view() as view:
        view.step("starting the broker" if bootstrap is None else f"using the broker at {bootstrap}")
        if bootstrap is None:
            with development_broker(on_progress=_once_a_step(view)) as broker:
                try:
                    results = compare(settings, broker.bootstrap, folder, view)
                except KafkaAssignorsError as error:
                    if broker.running:
                        raise
                    # What a member says of it ("connection refused") would lead astray.
                    raise BrokerError("the development broker ended during the demo") from error
        else:
            results = compare(settings, bootstrap, folder, view)
    _show(results, folder, output)
    if found := faults(results):
        raise KafkaAssignorsError("; ".join(found))


def _show(results: Results, folder: Path, output: str) -> None:
    report = folder / "report.html"
    if output == "json":
        click.echo(json.dumps(results | {"report": str(report)}))
        return
    console = Console()
    console.print(summary(results))
    console.print(f"report: {report}", soft_wrap=True, highlight=False)


def _view() -> LiveView | PlainView:
    """Draw on stderr, so that stdout has the result alone; lines where stderr is no terminal."""
    console = Console(stderr=True)
    return LiveView(console) if console.is_terminal else PlainView(sys.stderr)


def _once_a_step(view: LiveView | PlainView) -> OnProgress:
    """Pass on the broker's progress: a line when a new step begins."""
    seen: set[str] = set()

    def tell(progress: Progress) -> None:
        if progress.step not in seen:
            seen.add(progress.step)
            view.step(progress.step)

    return tell


@contextmanager
def _orderly_end() -> Iterator[None]:
    """Turn SIGTERM into Ctrl-C, so that members and broker are ended in order either way."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
