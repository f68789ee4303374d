"""The command line.  One file a command; a command's file is imported when the command is called."""

from __future__ import annotations

import importlib
import sys
from typing import NamedTuple

import click

from kafka_assignors import __version__
from kafka_assignors.errors import KafkaAssignorsError, MissingExtraError


class _Known(NamedTuple):
    """A command: its module under ``cli``, the extra it needs, and a line of help."""

    module: str
    extra: str
    help: str


COMMANDS = {
    "backtest": _Known(
        "backtest.command",
        "spark",
        "Try strategies on a recorded history, on Spark, and say which one to use.",
    ),
    "broker": _Known("broker", "broker", "Start, stop and look at the development broker."),
    "lag": _Known(
        "lag.command",
        "cli",
        "Show how much a group has left to read, per partition and member, once or continually.",
    ),
    "pipeline": _Known(
        "pipeline.command",
        "spark",
        "Record groups, learn their load, and tell the assignor what to expect, on Spark.",
    ),
    "plan": _Known(
        "plan.command", "cli", "Show what a strategy would do with a group, live or from a file, and why."
    ),
    "record": _Known(
        "pipeline.record", "spark", "Record what groups do, on Spark, for the load model and back-tests."
    ),
    "tasks": _Known(
        "tasks.command",
        "cli",
        "Show which member of a stateful group has which task, or a copy of it, and how far that is.",
    ),
}


class _OneFileACommand(click.Group):
    """Imports a command's module when the command is called, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (known := COMMANDS.get(cmd_name)) is None:
            return None
        module = f"{__name__}.{known.module}"
        try:
            command = importlib.import_module(module).command
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("kafka_assignors"):
                raise
            raise MissingExtraError(known.extra, str(error.name)) from error
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in sorted(COMMANDS)])


@click.group(cls=_OneFileACommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kafka-assignors")
def cli() -> None:
    """Partition-assignment strategies for kafka-python."""


def run(command: click.Command = cli, name: str = "kafka-assignors") -> None:
    """Run the command line.  Exit codes: 0 ok, 1 failed (one line on stderr), 2 usage, 130 interrupted."""
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
    except OSError as error:  # what no command expected of the machine: a full disk behind stdout, say
        where = f" ({error.filename})" if error.filename else ""
        click.echo(f"{name}: {error.strerror or error}{where}", err=True)
        sys.exit(1)
