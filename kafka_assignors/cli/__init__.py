"""The command line.  ``COMMANDS`` lists the commands; calling one imports its module."""

from __future__ import annotations

import importlib
import io
import sys
from typing import NamedTuple

import click

from kafka_assignors import __version__
from kafka_assignors.errors import KafkaAssignorsError, needs_extra


class _CommandEntry(NamedTuple):
    """A command: its module under ``cli``, the extra it needs, and a line of help."""

    module: str
    extra: str
    help: str


COMMANDS = {
    "backtest": _CommandEntry(
        "backtest.command",
        "spark",
        "Try strategies on a recorded history, on Spark, and recommend one.",
    ),
    "broker": _CommandEntry("broker", "broker", "Start, stop and look at the development broker."),
    "exporter": _CommandEntry(
        "exporter.command", "prometheus", "Serve the lag of groups to Prometheus, as kafka-lag-exporter does."
    ),
    "lag": _CommandEntry(
        "lag.command",
        "cli",
        "Show the lag of a group, per partition and member, once or repeatedly.",
    ),
    "pipeline": _CommandEntry(
        "pipeline.command",
        "spark",
        "Record groups, model their load and publish forecasts for the assignor, on Spark.",
    ),
    "plan": _CommandEntry(
        "plan.command", "cli", "Show how a strategy would assign a group, live or from a file, and why."
    ),
    "record": _CommandEntry(
        "pipeline.record",
        "spark",
        "Record offsets and commits of groups, on Spark, for the load model and back-tests.",
    ),
    "size": _CommandEntry(
        "size.command", "cli", "Show how many members a group needs so that no record waits too long."
    ),
    "tasks": _CommandEntry(
        "tasks.command",
        "cli",
        "Show the members of each task of a stateful group: active, standby and warm-up, with lag.",
    ),
    "watch": _CommandEntry(
        "watch_group.command",
        "cli",
        "Watch a group live in the terminal: members, partitions, lag, rebalances and their causes.",
    ),
}


class _LazyGroup(click.Group):
    """Imports only the module of the called command, and none for ``--help``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (entry := COMMANDS.get(cmd_name)) is None:
            return None
        with needs_extra(entry.extra):
            command: click.Command = importlib.import_module(f"{__name__}.{entry.module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in sorted(COMMANDS)])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="kafka-assignors")
def cli() -> None:
    """Partition-assignment strategies for kafka-python."""


def run(command: click.Command = cli, name: str = "kafka-assignors") -> None:
    """Run the command line.  Exit codes: 0 ok, 1 failed (one line on stderr), 2 usage, 130 interrupted."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # The encoding of stdout may not have all characters of tables and names.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        command.main(prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except KafkaAssignorsError as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(1)
    except OSError as error:  # a fault of the machine, such as a full disk
        where = f" ({error.filename})" if error.filename else ""
        click.echo(f"{name}: {error.strerror or error}{where}", err=True)
        sys.exit(1)
