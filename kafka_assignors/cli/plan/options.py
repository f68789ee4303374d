"""Strategy options in ``plan``, from the file and the command line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.options import plan_options
from kafka_assignors.cli.common import option_as_usage_error
from kafka_assignors.plan import shown
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.strict_json import json_or_text

# Option of one consumer -> field of a member in a file.
_IN_FILES = {
    "rack": "rack",
    "priority": "priority",
    "capacity": "capacity",
    "assignment_consumer_priority": "priority",
}

DEFAULT_STRATEGY = "cooperative-sticky"
"""The strategy to plan with if neither the user nor the group names one."""

KNOWN = f"one of {', '.join(STRATEGIES)}, or your own as MODULE:CLASS"
"""The values of ``--strategy``, for help texts and errors."""


def named_value(text: str) -> tuple[str, Any]:
    """Split ``name=value``; a value that is not JSON is text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.UsageError(f"--option {text}: expected NAME=VALUE")
    return name, json_or_text(value)


def option_names(kind: type[Assignor]) -> list[str]:
    """Return the names of a strategy's options that change its plans."""
    return plan_options(kind.options_type)


def check_options(where: str, names: Iterable[str], own: Sequence[type[Assignor]]) -> None:
    """Raise a usage error unless every name is an option that changes some strategy's plans."""
    kinds = [*STRATEGIES.values(), *own]
    known = sorted(set().union(*map(option_names, kinds)))
    of_consumers = {field.name for kind in kinds for field in fields(kind.options_type)} - {*known}
    for name in names:
        if name in of_consumers:
            hint = f"; here it is members[].{_IN_FILES[name]}" if name in _IN_FILES else ""
            raise click.UsageError(f"{where}{name}: an option of one consumer{hint}")
        if name not in known:
            raise click.UsageError(f"{where}{shown(name)}: unknown, expected one of {', '.join(known)}")


def refuse_foreign(where: str, kind: type[Assignor], names: Iterable[str]) -> None:
    """Raise a usage error for an option of another strategy, because it would have no effect."""
    for name, reason in _foreign(kind, names):
        raise click.UsageError(f"{where}{name}: {reason}")


def about_foreign(kind: type[Assignor], names: Iterable[str]) -> list[str]:
    """Return notes on options of a file that have no effect under the strategy of the command line."""
    return [f"options.{name}: {reason}" for name, reason in _foreign(kind, names)]


def _foreign(kind: type[Assignor], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each option of another strategy, and the reason why it has no effect."""
    for name in names:
        if name not in option_names(kind):
            owners = [other for other in STRATEGIES if name in option_names(STRATEGIES[other])]
            yield name, f"not an option of {kind.name}, but of {', '.join(owners)}"


def with_options(kind: type[Assignor], in_file: Mapping[str, Any], given: Mapping[str, Any]) -> Assignor:
    """Build the strategy with its options; those of the command line override the file's."""
    names = option_names(kind)
    with option_as_usage_error(lambda name: f"{'--option ' if name in given else 'options.'}{name}"):
        return kind(**{name: value for name, value in {**in_file, **given}.items() if name in names})


def assumed(assignors: Sequence[Assignor], current_strategy: str | None, given: Collection[str]) -> list[str]:
    """Return notes on the option values assumed for a live group, because its broker does not know them."""
    lines = []
    for assignor in assignors:
        names = [name for name in option_names(type(assignor)) if name not in given]
        if assignor.name == current_strategy and names:
            values = ", ".join(f"{name}={_json(getattr(assignor.options, name))}" for name in names)
            lines.append(f"the group's options are unknown, assuming {values} (--option)")
    return lines


def _json(value: object) -> str:
    """Return an option's value as JSON.  A user's strategy may have options that JSON has no form for."""
    return json.dumps(value, default=lambda v: sorted(v, key=repr) if isinstance(v, Set) else repr(v))
