"""``kafka-assignors broker``: a development broker.  It outlives ``start``, except with ``--foreground``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from kafka_assignors.broker import Backend, DevelopmentBroker, start_broker, state
from kafka_assignors.broker.paths import expanded
from kafka_assignors.cli.common import output_option, sigterm_as_interrupt
from kafka_assignors.cli.progress import ProgressView
from kafka_assignors.errors import BrokerError


@click.group("broker")
def command() -> None:
    """Start, stop and look at the development broker: one Kafka node on this machine.

    Needs either Docker, or Java 17 or newer, for which the broker's jars (43 MB) are fetched once.
    """


@command.command()
@click.option(
    "--backend",
    type=click.Choice(["auto", "docker", "jars"]),
    default="auto",
    help="How to run the broker; auto is Docker if an engine answers, else jars.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port the broker listens on.  [default: a free port]"
)
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the broker's data and log, kept afterwards; auto then uses jars.  "
    "[default: a temporary directory]",
)
@click.option(
    "--foreground",
    is_flag=True,
    help="Stay in the foreground, and stop the started broker on Ctrl-C or SIGTERM.",
)
def start(*, backend: Backend, port: int | None, data_dir: Path | None, foreground: bool) -> None:
    """Start the broker unless it is running, and print its address for clients.

    Only the address goes to standard output, so a script can read it from there.
    """
    with state.locked_state():
        if (running := state.recover()) is not None:
            _refuse_another(running, backend, port, data_dir)
            click.echo("the broker is already running; stop it with: kafka-assignors broker stop", err=True)
            click.echo(running.bootstrap)
            return
        with ProgressView() as view:
            broker = start_broker(backend, data_dir=data_dir, port=port, on_progress=view.step)
        try:
            state.save(broker, temporary=data_dir is None)
        except BaseException:  # including Ctrl-C
            _end(broker)  # ``broker stop`` could not find it without a state file
            raise
        if not foreground:
            broker.detach()  # until then the broker ends with this program
    if foreground:
        _stay(broker)
        return
    click.echo("the broker is running; stop it with: kafka-assignors broker stop", err=True)
    click.echo(broker.bootstrap)


@command.command()
def stop() -> None:
    """Stop the broker.  Succeeds if no broker is running."""
    with state.locked_state():
        stopped = state.stop()
    click.echo(
        "no broker is running" if stopped is None else f"stopped the broker at {stopped.bootstrap}", err=True
    )


@command.command()
@output_option
def status(*, output: str) -> None:
    """Show whether the broker is running, and where.  Exit code 0 if it is, 1 if not."""
    with state.locked_state(wait=False) as is_locked:
        # ``recover`` also cleans up after a dead broker.  If another command has the lock, that one does it.
        running = state.recover() if is_locked else state.load()
    facts = {"running": running is not None} | (asdict(running) if running else {})
    if output == "json":
        click.echo(json.dumps(facts))
    elif running is None:
        click.echo("no broker is running; start one with: kafka-assignors broker start")
    else:
        for name in ("bootstrap", "backend", "pid", "data_dir", "log"):
            click.echo(f" {name.replace('_', ' '):<9}  {facts[name]}")
    if running is None:
        raise SystemExit(1)


def _refuse_another(
    running: state.Running, backend: Backend, port: int | None, data_dir: Path | None
) -> None:
    """Raise if the options ask for a broker other than the running one."""
    for requested, actual in (
        (port and f"port {port}", f"port {running.bootstrap.rpartition(':')[2]}"),
        (
            data_dir and f"data directory {expanded(data_dir)}",
            f"data directory {running.data_dir}",
        ),
        (backend != "auto" and f"backend {backend}", f"backend {running.backend}"),
    ):
        if requested and requested != actual:
            raise BrokerError(
                f"a broker with {actual} is running, not {requested}: "
                "run kafka-assignors broker stop, then start again"
            )


def _stay(broker: DevelopmentBroker) -> None:
    try:
        with sigterm_as_interrupt():
            click.echo("the broker is running; stop it with Ctrl-C", err=True)
            click.echo(broker.bootstrap)
            broker.wait()
        if broker.failed:
            raise BrokerError(f"the broker ended: {broker.error_line()} (log: {broker.log_path})")
    except KeyboardInterrupt:
        click.echo("stopping the broker", err=True)
    finally:
        _end(broker)


def _end(broker: DevelopmentBroker) -> None:
    broker.stop(keep_log=broker.failed)
    state.delete(broker.pid)
