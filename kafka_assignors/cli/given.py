"""What commands share: the options of a live cluster, the settings they make, and an orderly end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar

import click

from kafka_assignors.errors import OptionError
from kafka_assignors.lag.connection import connection_settings, read_properties

__all__ = ["connection_options", "given_settings", "terminated_like_interrupted"]

F = TypeVar("F", bound=Callable[..., object])


def connection_options(command: F) -> F:
    """Give a command ``--bootstrap`` and ``--config``, for ``given_settings``."""
    command = click.option(
        "--config",
        metavar="FILE",
        type=click.File("rb"),
        help="Properties of the connection; security settings and secrets go here (or into the environment).",
    )(command)
    return click.option("--bootstrap", metavar="HOST:PORT", help="A broker of the group's cluster.")(command)


def given_settings(bootstrap: str | None, config: BinaryIO | None) -> dict[str, Any]:
    """Keyword arguments for kafka-python's clients, from ``--bootstrap``, ``--config`` and the environment.

    Raises:
        click.UsageError: a setting that is wrong or missing; it tells no secret.
    """
    try:
        properties = read_properties(config.read().decode()) if config else {}
        return connection_settings(bootstrap, properties, os.environ)
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--config: byte {error.start} is not {error.encoding}") from error
    except OptionError as error:
        raise click.UsageError(f"{error.option}: {error.reason}") from error


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Turn SIGTERM into Ctrl-C, so that what is under way ends in order either way."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
