"""Shared by commands: options, client settings, addresses, the SIGTERM handler, and ids of problems."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeVar

import click

from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.lag.connection import connection_settings, read_properties
from kafka_assignors.validators import is_port

Command = TypeVar("Command", bound=Callable[..., object])


def connection_options(command: Command) -> Command:
    """Add ``--bootstrap`` and ``--config``, the arguments of ``client_settings``, to a command."""
    command = click.option(
        "--config",
        metavar="FILE",
        type=click.File("rb"),
        help="Connection properties; security settings and secrets go here (or into the environment).",
    )(command)
    return click.option("--bootstrap", metavar="HOST:PORT", help="A broker of the group's cluster.")(command)


def reset_option(text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``--reset``, the group's ``auto_offset_reset``; ``text`` is the help."""
    choices = click.Choice(["earliest", "latest"])
    return click.option("--reset", type=choices, default="earliest", help=text)


class FiniteRange(click.FloatRange):
    """A range of finite numbers.  click's own accepts NaN, and infinity if the range has no end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a number; fail if it is not finite, or not in the range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


output_option = click.option("--output", type=click.Choice(["table", "json"]), default="table")
"""Adds ``--output`` to a command."""


def client_settings(bootstrap: str | None, config: BinaryIO | None) -> dict[str, Any]:
    """Return kafka-python client arguments from ``--bootstrap``, ``--config`` and the environment."""
    with option_as_usage_error(str):
        try:
            properties = read_properties(config.read().decode()) if config else {}
        except UnicodeDecodeError as error:
            raise click.UsageError(f"--config: byte {error.start} is not {error.encoding}") from error
        return connection_settings(bootstrap, properties, os.environ)


@contextmanager
def as_usage_error(where: str) -> Iterator[None]:
    """Turn a ProblemError or OptionError into a usage error whose message begins with ``where``."""
    try:
        with option_as_usage_error(lambda _: where):
            yield
    except ProblemError as error:
        raise click.UsageError(f"{where}: {error}") from error


@contextmanager
def option_as_usage_error(name: Callable[[str], str]) -> Iterator[None]:
    """Turn an OptionError into a usage error whose message begins with ``name(option)``."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(f"{name(error.option)}: {error.reason}") from error


def without_figures(line: str) -> str:
    """Replace the numbers of a line by ``#``, so that a problem keeps its id while its figures change.

    A number after a letter, ``_`` or ``-``, or before ``-``, is part of a name, and stays: ``2-orders-5``.
    """
    return re.sub(r"(?<![\w.,-])[\d.,]+(?![\d.,-])", "#", line)


class Address(NamedTuple):
    """An address to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(value: str) -> Address:
    """Parse HOST:PORT.

    Raises:
        click.BadParameter: the value is not such an address.
    """
    host, _, port = value.rpartition(":")
    if not host or not (is_port(port) or port == "0"):
        raise click.BadParameter(f"expected HOST:PORT, got {value!r}")
    return Address(host.strip("[]"), int(port))


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM, so that it ends a command as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def wait_for_interrupt() -> NoReturn:
    """Sleep until a signal handler raises.

    Each sleep is short, because Python runs signal handlers on the main thread, but a signal that the system
    delivers to another thread does not wake the main thread.
    """
    while True:
        time.sleep(1)
