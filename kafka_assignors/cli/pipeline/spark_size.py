"""``--cores`` and ``--memory``: how large the Spark is that a command starts for itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafka_assignors.pipeline.session import MEMORY

__all__ = ["spark_size_options"]

F = TypeVar("F", bound=Callable[..., object])

_SIZE = re.compile(r"[1-9][0-9]*[mg]")


def spark_size_options(command: F) -> F:
    """Give a command both; under ``spark-submit`` they are without effect."""
    command = click.option(
        "--memory",
        metavar="SIZE",
        callback=_checked,
        default=MEMORY,
        show_default=True,
        help="Of the Spark of its own, as 512m or 4g.",
    )(command)
    return click.option(
        "--cores", type=click.IntRange(1, 1024), help="Of the Spark of its own.  [default: all]"
    )(command)


def _checked(context: Any, parameter: Any, size: str) -> str:
    """A size that Java takes."""
    del context, parameter
    if not _SIZE.fullmatch(size):
        raise click.BadParameter(f"{size!r} is no size such as 512m or 4g")
    return size
