"""``kafka-assignors plan``: what a strategy would do with a group, live or from a file, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, BinaryIO

import click
from rich.console import Console

from kafka_assignors.adapter import STRATEGIES, Assignor
from kafka_assignors.adapter.complaints import Complaints
from kafka_assignors.cli.connection import connection_settings, read_properties
from kafka_assignors.cli.live_group import read_live_group
from kafka_assignors.cli.outcome import solve
from kafka_assignors.cli.plan_view import comparison, one_plan
from kafka_assignors.cli.problem import Problem, read
from kafka_assignors.cli.what_if import joined, without
from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan import Group, load_lower_bound, resolve

__all__ = ["command"]

_DEFAULT = "cooperative-sticky"  # of a file that names none


@click.command("plan")
@click.option(
    "--file", metavar="FILE", type=click.File("rb"), help="Plan for the group in this JSON file; - is stdin."
)
@click.option("--group", "group_id", metavar="GROUP", help="Plan for this live group; nothing in it changes.")
@click.option("--bootstrap", metavar="HOST:PORT", help="A broker of the group's cluster.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.File("rb"),
    help="Properties of the connection; security settings and secrets go here (or into the environment).",
)
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    help=f"The strategy.  [default: the file's, else {_DEFAULT}; the one the live group runs]",
)
@click.option("--option", "options", metavar="NAME=VALUE", multiple=True, help="An option of the strategy.")
@click.option("--compare", is_flag=True, help="Plan with every strategy and show them side by side.")
@click.option(
    "--without",
    "leavers",
    metavar="MEMBER",
    multiple=True,
    help="What if this member left: its id, the beginning of it, or its instance id.",
)
@click.option(
    "--join",
    "joiners",
    metavar="N",
    type=click.IntRange(0, 10_000),
    default=0,
    help="What if N members joined.",
)
@click.option("--all", "everything", is_flag=True, help="Show every member and every change of a large plan.")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    *,
    file: BinaryIO | None,
    group_id: str | None,
    bootstrap: str | None,
    config: BinaryIO | None,
    strategy: str | None,
    options: tuple[str, ...],
    compare: bool,
    leavers: tuple[str, ...],
    joiners: int,
    everything: bool,
    output: str,
) -> None:
    """Show what a strategy would do with a group, and why.

    The group comes from a JSON file or from a live cluster, which is only asked: no member notices.
    """
    if (file is None) == (group_id is None):
        raise click.UsageError("give one of --file and --group")
    if compare and strategy:
        raise click.UsageError("--compare plans with every strategy: leave out --strategy")
    if file is not None and (bootstrap or config):
        raise click.UsageError("--bootstrap and --config go with --group")

    problem = _from_file(file) if file is not None else _from_cluster(str(group_id), bootstrap, config)
    given = dict(_option(text) for text in options)
    if compare:
        assignors = _every_strategy(problem.options, given)
    else:
        kind = _strategy(strategy or problem.strategy or _DEFAULT, group_id)
        assignors = [_with_options(kind, problem.options, given)]
    try:
        group, departed = without(problem.group, leavers)
    except ProblemError as error:
        raise click.UsageError(f"--without: {error}") from error
    group = joined(group, joiners)

    _notes(problem, group, assignors)
    bound = load_lower_bound(group)
    outcomes = [solve(assignor, group, departed, bound) for assignor in assignors]
    if output == "json":
        found = [outcome.as_json() for outcome in outcomes]
        click.echo(json.dumps(found if compare else found[0]))
    else:
        Console(highlight=False).print(
            comparison(outcomes) if compare else one_plan(outcomes[0], everything=everything)
        )


# --- the group ---------------------------------------------------------------------------------------------


def _from_file(file: BinaryIO) -> Problem:
    try:
        problem = read(file.read())
    except ProblemError as error:
        raise click.UsageError(str(error)) from error
    if problem.strategy is not None:
        _strategy(problem.strategy, None)  # even where another one is asked for
    return problem


def _from_cluster(group_id: str, bootstrap: str | None, config: BinaryIO | None) -> Problem:
    """The group as it is now; the strategy it runs stands for the one a file would name."""
    try:
        properties = read_properties(config.read().decode()) if config else {}
        settings = connection_settings(bootstrap, properties, os.environ)
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--config: byte {error.start} is not {error.encoding}") from error
    except OptionError as error:
        raise click.UsageError(f"{error.option}: {error.reason}") from error
    live = read_live_group(settings, group_id)
    return Problem(live.group, live.strategy)


def _notes(problem: Problem, group: Group, assignors: Sequence[Assignor]) -> None:
    """Say on stderr what of the problem counts for nothing in the plan."""
    complaints = Complaints()
    complaints.about_topics(group)
    complaints.about_claims(resolve(group))
    lines = complaints.lines()
    racks = {} if any(assignor.by_rack for assignor in assignors) else group.racks
    given = (("lags", problem.lags), ("priority", problem.priorities), ("racks", racks))
    if unused := [name for name, values in given if values]:
        who = f"strategy {assignors[0].name!r} does" if len(assignors) == 1 else "the strategies do"
        lines.append(f"{who} not use {' and '.join(unused)}")
    for line in lines:
        click.echo(f"note: {line}", err=True)


# --- the strategy ------------------------------------------------------------------------------------------


def _strategy(name: str, group_id: str | None) -> type[Assignor]:
    if name in STRATEGIES:
        return STRATEGIES[name]
    known = ", ".join(STRATEGIES)
    if group_id is None:
        raise click.UsageError(f"strategy: unknown {name!r}, there is {known}")
    raise click.UsageError(
        f"group {group_id!r} runs {name!r}, which is not ours: give --strategy, one of {known}"
    )


def _option(text: str) -> tuple[str, Any]:
    """``name=value``; the value is JSON, or else text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.UsageError(f"--option {text}: expected NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _with_options(kind: type[Assignor], in_file: Mapping[str, Any], given: Mapping[str, Any]) -> Assignor:
    try:
        return kind(**{**in_file, **given})
    except OptionError as error:
        where = "--option " if error.option in given else "options."
        raise click.UsageError(f"{where}{error.option}: {error.reason}") from error


def _every_strategy(in_file: Mapping[str, Any], given: Mapping[str, Any]) -> list[Assignor]:
    """All of them; an option goes to those that have it, and to some it must."""
    options = {kind: {field.name for field in fields(kind.options_type)} for kind in STRATEGIES.values()}
    anybodys = set().union(*options.values())
    return [
        _with_options(
            kind,
            {name: value for name, value in in_file.items() if name in known or name not in anybodys},
            {name: value for name, value in given.items() if name in known or name not in anybodys},
        )
        for kind, known in options.items()
    ]
