"""``kafka-assignors plan``: what a strategy would do with a group, live or from a file, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.console import Group as Lines

from kafka_assignors.adapter import STRATEGIES, Assignor
from kafka_assignors.adapter.complaints import Complaints
from kafka_assignors.cli.connection import connection_settings, read_properties
from kafka_assignors.cli.live_group import read_live_group
from kafka_assignors.cli.outcome import solve
from kafka_assignors.cli.plan_view import comparison, one_plan
from kafka_assignors.cli.problem import Problem, read
from kafka_assignors.cli.what_if import joined, without
from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan import Group, load_lower_bound, resolve, shown

__all__ = ["command"]

_WIDE = 10_000  # columns: no line of a plan is longer
_MOST_NOTES = 5
_DEFAULT = "cooperative-sticky"  # of a file that names none
_IN_FILES = {"rack": "rack", "priority": "priority", "assignment_consumer_priority": "priority"}


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
    _check_options("options.", {name: value for name, value in problem.options.items() if name not in given})
    _check_options("--option ", given)
    if compare:
        kinds = list(STRATEGIES.values())
    else:
        kinds = [_strategy(strategy or problem.strategy or _DEFAULT, group_id)]
    assignors = [_with_options(kind, problem.options, given) for kind in kinds]
    try:
        group, departed = without(problem.group, leavers)
    except ProblemError as error:
        raise click.UsageError(f"--without: {error}") from error
    group = joined(group, joiners, departed)

    _notes(problem, group, assignors)
    bound = load_lower_bound(group)
    outcomes = [solve(assignor, group, departed, bound) for assignor in assignors]
    if output == "json":
        found = [outcome.as_json() for outcome in outcomes]
        click.echo(json.dumps(found if compare else found[0]))
    else:
        _print(comparison(outcomes) if compare else one_plan(outcomes[0], everything=everything))


def _print(lines: Lines) -> None:
    """On a terminal, as wide as that; into a pipe or a file a line is a line."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(lines)
        return
    if "COLUMNS" not in os.environ:
        console.width = _WIDE
    with console.capture() as captured:
        console.print(lines)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


# --- the group ---------------------------------------------------------------------------------------------


def _from_file(file: BinaryIO) -> Problem:
    try:
        problem = read(file.read())
    except ProblemError as error:
        raise click.UsageError(f"{_name(file)}: {error}") from error
    if problem.strategy is not None:
        _strategy(problem.strategy, None)  # even where another one is asked for
    return problem


def _name(file: BinaryIO) -> str:
    name = getattr(file, "name", None)
    return shown(name) if isinstance(name, str) and name != "<stdin>" else "standard input"


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
    by_rack = any(assignor.by_rack for assignor in assignors)
    lines = [*(_about_racks(group) if by_rack else ()), *complaints.lines()]
    by_priority = any(assignor.by_priority for assignor in assignors)
    silent = [member.priority is None for member in group.members]
    if any(silent) and all(assignor.by_priority for assignor in assignors):
        lines.append(f"{sum(silent)} of {len(silent)} members say no priority: they rank last")
    given = {
        "lags": bool(problem.lags),
        "priority": not (by_priority or all(silent)),
        "racks": bool(group.racks) and not by_rack,
    }
    if unused := [name for name, there in given.items() if there]:
        who = f"strategy {assignors[0].name!r} does" if len(assignors) == 1 else "the strategies do"
        lines.append(f"{who} not use {' and '.join(unused)}")
    for line in lines[:_MOST_NOTES]:
        click.echo(f"note: {line}", err=True)
    if (more := len(lines) - _MOST_NOTES) > 0:
        click.echo(f"note: ... and {more} more", err=True)


def _about_racks(group: Group) -> Iterator[str]:
    if group.too_many_racks:
        yield "too many different sets of racks: they are left out"
    elif not any(m.rack for m in group.members) and not group.racks:
        return
    elif group.in_racks is None or not group.in_racks.any():
        yield "racks count for nothing: no member's rack has a replica"


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


def _check_options(where: str, names: Iterable[str]) -> None:
    """Each has to be an option of some strategy's plan; what else there is belongs to a consumer."""
    known = sorted(set().union(*map(_names, STRATEGIES.values())))
    consumers = {field.name for kind in STRATEGIES.values() for field in fields(kind.options_type)} - {*known}
    there_is = f"there is {', '.join(known)}" if known else "no strategy has options for its plan"
    for name in names:
        if name in consumers:
            hint = f"; here it is members[].{_IN_FILES[name]}" if name in _IN_FILES else ""
            raise click.UsageError(f"{where}{name}: belongs to a consumer{hint}")
        if name not in known:
            raise click.UsageError(f"{where}{shown(name)}: unknown, {there_is}")


def _names(kind: type[Assignor]) -> set[str]:
    return {field.name for field in fields(kind.options_type) if "plans" in field.metadata}


def _with_options(kind: type[Assignor], in_file: Mapping[str, Any], given: Mapping[str, Any]) -> Assignor:
    """An option goes to the strategies that have it."""
    try:
        return kind(**{name: value for name, value in {**in_file, **given}.items() if name in _names(kind)})
    except OptionError as error:
        where = "--option " if error.option in given else "options."
        raise click.UsageError(f"{where}{error.option}: {error.reason}") from error
