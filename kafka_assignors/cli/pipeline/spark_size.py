"""``--cores`` and ``--memory``: the size of the local Spark that a command starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafka_assignors.pipeline.session import MEMORY

F = TypeVar("F", bound=Callable[..., object])

_SIZE = re.compile(r"[1-9][0-9]*[mg]")


def spark_size_options(command: F) -> F:
    """Add both options to a command; under ``spark-submit`` they have no effect."""
    command = click.option(
        "--memory",
        metavar="SIZE",
        callback=_checked,
        default=MEMORY,
        show_default=True,
        help="Memory of the local Spark, as 512m or 4g.",
    )(command)
    return click.option(
        "--cores", type=click.IntRange(1, 1024), help="Cores of the local Spark.  [default: all]"
    )(command)


def _checked(context: Any, parameter: Any, size: str) -> str:
    """Refuse sizes that Java does not accept."""
    del context, parameter
    if not _SIZE.fullmatch(size):
        raise click.BadParameter(f"{size!r} is not a size such as 512m or 4g")
    return size
