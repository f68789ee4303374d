"""The options that commands on a live cluster share, and the settings they make."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import click

from kafka_assignors.cli.connection import connection_settings, read_properties
from kafka_assignors.errors import OptionError

__all__ = ["given_settings"]


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
