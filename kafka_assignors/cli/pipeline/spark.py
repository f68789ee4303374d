"""Shared by commands that use Spark: their options, the check of the extra, and folders of recordings."""

from __future__ import annotations

import re
from pathlib import Path

import click

from kafka_assignors.cli.common import Command
from kafka_assignors.errors import require_modules
from kafka_assignors.pipeline.session import MEMORY, submitted

_SIZE = re.compile(r"[1-9][0-9]*[mg]")


def spark_size_options(command: Command) -> Command:
    """Add ``--cores`` and ``--memory`` to a command; under ``spark-submit`` they have no effect."""
    command = click.option(
        "--memory",
        metavar="SIZE",
        type=_memory,
        default=MEMORY,
        help="Memory of the local Spark, as 512m or 4g.",
    )(command)
    return click.option(
        "--cores", type=click.IntRange(1, 1024), help="Cores of the local Spark.  [default: all]"
    )(command)


def _memory(size: str) -> str:
    if not _SIZE.fullmatch(size):
        raise click.BadParameter(f"{size!r} is not a size such as 512m or 4g")
    return size


def require_spark() -> None:
    """Raise a MissingExtraError if a library is missing, before the session starts."""
    require_modules("spark", {module: module for module in ("pyspark", "pandas", "pyarrow")})


def is_of_spark(folder: str) -> bool:
    """Return whether the folder may be one that Spark can open, but Python cannot.

    True for a URI.  True for any folder if ``spark-submit`` started the program.
    """
    return bool(re.match("[A-Za-z][A-Za-z0-9+.-]*:/", folder)) or submitted()


def recording_folder(option: str, folder: str) -> str:
    """Return the folder of a recording as Spark reads it.  Errors begin with ``option``.

    Raises:
        click.UsageError: a local folder does not exist.
    """
    if is_of_spark(folder):
        return folder
    if not Path(folder).is_dir():
        raise click.UsageError(f"{option}: no folder {folder!r}")
    return str(Path(folder).resolve())  # the JVM may have another working directory
