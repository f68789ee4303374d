"""Options of the strategies in ``plan``, from file and command line; each goes to those that have it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.errors import OptionError
from kafka_assignors.plan import shown
from kafka_assignors.strategies import STRATEGIES

__all__ = [
    "about_foreign",
    "assumed",
    "check_options",
    "named_value",
    "option_names",
    "refuse_foreign",
    "with_options",
]

_IN_FILES = {"rack": "rack", "priority": "priority", "assignment_consumer_priority": "priority"}


def named_value(text: str) -> tuple[str, Any]:
    """``name=value``; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.UsageError(f"--option {text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def option_names(kind: type[Assignor]) -> list[str]:
    """A strategy's options that change its plans."""
    return [field.name for field in fields(kind.options_type) if "plans" in field.metadata]


def check_options(where: str, names: Iterable[str]) -> None:
    """Each has to be an option of some strategy's plan; what else there is belongs to a consumer."""
    known = sorted(set().union(*map(option_names, STRATEGIES.values())))
    consumers = {field.name for kind in STRATEGIES.values() for field in fields(kind.options_type)} - {*known}
    there_is = f"there is {', '.join(known)}" if known else "no strategy has options for its plan"
    for name in names:
        if name in consumers:
            hint = f"; here it is members[].{_IN_FILES[name]}" if name in _IN_FILES else ""
            raise click.UsageError(f"{where}{name}: belongs to a consumer{hint}")
        if name not in known:
            raise click.UsageError(f"{where}{shown(name)}: unknown, {there_is}")


def refuse_foreign(where: str, kind: type[Assignor], names: Iterable[str]) -> None:
    """Raise a usage error about one that is not this strategy's: it would do nothing."""
    for name, whose in _foreign(kind, names):
        raise click.UsageError(f"{where}{name}: {whose}")


def about_foreign(kind: type[Assignor], names: Iterable[str]) -> list[str]:
    """Say which options of a file do nothing, as another strategy than the file's was asked for."""
    return [f"options.{name}: {whose}" for name, whose in _foreign(kind, names)]


def _foreign(kind: type[Assignor], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if name not in option_names(kind):
            owners = [other for other in STRATEGIES if name in option_names(STRATEGIES[other])]
            yield name, f"no option of {kind.name}, but of {', '.join(owners)}"


def with_options(kind: type[Assignor], in_file: Mapping[str, Any], given: Mapping[str, Any]) -> Assignor:
    """The strategy with those of the options that it has; what is given wins over the file."""
    names = option_names(kind)
    try:
        return kind(**{name: value for name, value in {**in_file, **given}.items() if name in names})
    except OptionError as error:
        where = "--option " if error.option in given else "options."
        raise click.UsageError(f"{where}{error.option}: {error.reason}") from error


def assumed(assignors: Sequence[Assignor], runs: str | None, given: Collection[str]) -> list[str]:
    """Say what is taken for the options of a live group, of which its broker knows nothing.

    Args:
        assignors: who plans.
        runs: the strategy that the group runs; what another one's options would be, nobody has decided yet.
        given: the options somebody gave.
    """
    lines = []
    for assignor in assignors:
        names = [name for name in option_names(type(assignor)) if name not in given]
        if assignor.name == runs and names:
            values = ", ".join(f"{name}={json.dumps(getattr(assignor.options, name))}" for name in names)
            lines.append(f"the group's options are not to be seen, assuming {values} (--option)")
    return lines
