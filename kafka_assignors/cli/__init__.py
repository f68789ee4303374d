"""The command line.  One file a command; a command's file is imported when the command is called."""

from __future__ import annotations

import importlib
import sys

import click

from kafka_assignors import __version__
from kafka_assignors.errors import KafkaAssignorsError, MissingExtraError

COMMANDS = {
    "backtest": "Try strategies on a recorded history, on Spark, and say which one to use.",
    "broker": "Start, stop and look at the development broker.",
    "demo": "Replay real data through a real group, once per strategy, and compare.",
    "lag": "Show how much a group has left to read, per partition and member, once or continually.",
    "pipeline": "Record groups, learn their load, and tell the assignor what to expect, on Spark.",
    "plan": "Show what a strategy would do with a group, live or from a file, and why.",
    "record": "Record what groups do, on Spark, for the load model and back-tests.",
    "report": "Draw the HTML page of a recorded demo or back-test again.",
    "tasks": "Show which member of a stateful group has which task, or a copy of it, and how far that is.",
}

#: Command -> the extra it needs, where that has another name.
EXTRAS = {
    "backtest": "spark",
    "lag": "cli",
    "pipeline": "spark",
    "plan": "cli",
    "record": "spark",
    "report": "cli",
    "tasks": "cli",
}


class _OneFileACommand(click.Group):
    """Finds command ``x`` as ``kafka_assignors.cli.x:command``, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            command = importlib.import_module(f"kafka_assignors.cli.{cmd_name}").command
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("kafka_assignors"):
                raise
            raise MissingExtraError(EXTRAS.get(cmd_name, cmd_name), str(error.name)) from error
        if not isinstance(command, click.Command):
            raise TypeError(f"kafka_assignors.cli.{cmd_name}.command is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_OneFileACommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kafka-assignors")
def cli() -> None:
    """Partition-assignment strategies for kafka-python."""


def run() -> None:
    """Run the command line.  Exit codes: 0 ok, 1 failed (one line on stderr), 2 usage, 130 interrupted."""
    try:
        cli.main(prog_name="kafka-assignors", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except KafkaAssignorsError as error:
        click.echo(f"kafka-assignors: {error}", err=True)
        sys.exit(1)
    except OSError as error:  # what no command expected of the machine: a full disk behind stdout, say
        where = f" ({error.filename})" if error.filename else ""
        click.echo(f"kafka-assignors: {error.strerror or error}{where}", err=True)
        sys.exit(1)
