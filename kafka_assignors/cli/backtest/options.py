"""Parses the options of ``backtest``: lists of values, parameters and times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import TypeVar

import click

from kafka_assignors.cli.common import as_usage_error
from kafka_assignors.cli.plan.options import KNOWN, option_names
from kafka_assignors.errors import OptionError
from kafka_assignors.pipeline.backtest.grid import CHOICES, SURROUNDINGS
from kafka_assignors.simulation import ChurnStep, parse_churn
from kafka_assignors.simulation.scenario import Parameter
from kafka_assignors.strategies import STRATEGIES, load_strategy
from kafka_assignors.strict_json import json_or_text
from kafka_assignors.validators import seconds

N = TypeVar("N", bound=float)

BY_DEFAULT = tuple(name for name in STRATEGIES if name != "failover")
"""All but ``failover``: a group of a single active member has no other strategy to compare it with."""

_LONGEST = 500
"""Maximum number of values of one option."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The values of ``--param``."""

    # Values of strategies' options and of ``CHOICES``, by name: candidates differ in them.
    choices: Mapping[str, Sequence[Parameter]]
    # Values of ``SURROUNDINGS``, by name (seconds, or 1 or 0): all candidates are tried with each.
    surroundings: Mapping[str, Sequence[float]]


def read_parameters(ctx: click.Context, _: click.Parameter, given: Iterable[str]) -> Parameters:
    """Parse each ``NAME=V1,V2``; a value that is not JSON is text."""
    choices: dict[str, Sequence[Parameter]] = {}
    surroundings: dict[str, Sequence[float]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise click.UsageError(f"--param {text}: expected NAME=VALUE,VALUE")
        if name in choices or name in surroundings:
            raise click.UsageError(f"--param {name}: given twice; give all its values at once")
        parsed = [json_or_text(value) for value in _split(f"--param {name}", values)]
        if name in SURROUNDINGS:
            with as_usage_error(f"--param {name}"):
                surroundings[name] = [float(seconds(name, value)) for value in parsed]
        else:
            if name not in CHOICES:
                _check_name(name, ctx.params.get("strategies", ()))
            choices[name] = parsed
    return Parameters(choices, surroundings)


def _check_name(name: str, strategies: Iterable[str]) -> None:
    kinds = {*STRATEGIES.values(), *map(load_strategy, strategies)}
    options = sorted(set().union(*map(option_names, kinds)))
    if name in options:
        return
    if any(name == field.name for kind in kinds for field in fields(kind.options_type)):
        raise click.UsageError(f"--param {name}: an option of one consumer, without effect on plans")
    known = ", ".join([*options, *CHOICES, *SURROUNDINGS])
    raise click.UsageError(f"--param {name}: unknown, expected one of {known}")


def read_strategies(_: click.Context, __: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Parse strategy names and ``module:Class``; the default is all but failover."""
    if given is None:
        return BY_DEFAULT
    names = tuple(dict.fromkeys(_split("--strategies", given)))
    for name in names:
        if name not in STRATEGIES and ":" not in name:
            raise click.BadParameter(f"unknown {name!r}, expected {KNOWN}")
        try:
            load_strategy(name)
        except OptionError as error:
            raise click.BadParameter(error.reason) from error
    return names


def read_whole(_: click.Context, param: click.Parameter, given: str | None) -> tuple[int, ...]:
    """Parse whole numbers above 0."""
    return _numbers(param, given, int, "whole number")


def read_positive(_: click.Context, param: click.Parameter, given: str | None) -> tuple[float, ...]:
    """Parse numbers above 0."""
    return _numbers(param, given, float, "number")


def read_churn(script: str) -> tuple[ChurnStep, ...]:
    """Parse a churn script."""
    try:
        return parse_churn(script)
    except OptionError as error:
        raise click.BadParameter(error.reason) from error


def parse_moment(value: str) -> datetime:
    """Parse a date, or a date and a time.  Without a zone the time is in UTC, as the history is."""
    text = f"{value[:-1]}+00:00" if value.endswith(("Z", "z")) else value
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not like 2026-11-22 or 2026-11-22T10:30") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _numbers(param: click.Parameter, given: str | None, kind: Callable[[str], N], noun: str) -> tuple[N, ...]:
    values = []
    for text in [] if given is None else _split(param.opts[0], given):
        try:
            value = kind(text)
            is_positive = 0 < value < float("inf")
        except ValueError:
            is_positive = False
        if not is_positive:
            raise click.BadParameter(f"{text!r} is not a {noun} above 0")
        values.append(value)
    return tuple(dict.fromkeys(values))


def _split(option: str, text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise click.UsageError(f"{option}: a value is missing in {text!r}")
    if len(parts) > _LONGEST:
        raise click.UsageError(f"{option}: {len(parts):,} values given, at most {_LONGEST} are allowed")
    return parts
