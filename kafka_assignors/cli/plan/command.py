"""``kafka-assignors plan``: how a strategy would assign a group, live or from a file, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.cli.common import as_usage_error, client_settings, connection_options, output_option
from kafka_assignors.cli.fields import parsed_json
from kafka_assignors.cli.live_group import read_live_group
from kafka_assignors.cli.plan.forecasts import read_feed, with_forecasts
from kafka_assignors.cli.plan.live_lag import with_live_lag
from kafka_assignors.cli.plan.notes import (
    about_given_lags,
    about_group,
    about_planning_by_counts,
    print_notes,
)
from kafka_assignors.cli.plan.options import (
    DEFAULT_STRATEGY,
    KNOWN,
    about_foreign,
    assumed,
    check_options,
    named_value,
    refuse_foreign,
    with_options,
)
from kafka_assignors.cli.plan.problem import Problem, parse_problem
from kafka_assignors.cli.plan.stateful_problem import STATEFUL, is_stateful, parse_stateful
from kafka_assignors.cli.plan.stateful_view import stateful_json, stateful_table
from kafka_assignors.cli.plan.strategy_plan import lower_bound, solve
from kafka_assignors.cli.plan.view import comparison, one_plan
from kafka_assignors.cli.plan.what_if import joined, without
from kafka_assignors.cli.tables import show
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import shown
from kafka_assignors.plan.stateful import plan_stateful
from kafka_assignors.strategies import STRATEGIES, load_strategy


def _checked_name(strategy: str) -> str:
    """Check a strategy's name; ``MODULE:CLASS`` is imported later."""
    if strategy not in STRATEGIES and ":" not in strategy:
        raise click.BadParameter(f"unknown {strategy!r}, expected {KNOWN}")
    return strategy


@click.command("plan")
@click.option(
    "--file", metavar="FILE", type=click.File("rb"), help="Plan for the group in this JSON file; - is stdin."
)
@click.option("--group", "group_id", metavar="GROUP", help="Plan for this live group; nothing in it changes.")
@connection_options
@click.option(
    "--strategy",
    metavar="NAME",
    type=_checked_name,
    help=f"The strategy, {KNOWN}.  "
    "[default: with --group the one that the group runs; with --file the one that the file names, or "
    f"{DEFAULT_STRATEGY} if it names none]",
)
@click.option(
    "--option", "options", metavar="NAME=VALUE", multiple=True, help="An option of the strategy; repeatable."
)
@click.option("--compare", is_flag=True, help="Plan with every strategy and show them side by side.")
@click.option(
    "--without",
    "leavers",
    metavar="MEMBER",
    multiple=True,
    help="What if this member left: its id, the beginning of it, or its instance id; repeatable.",
)
@click.option(
    "--join",
    "joiners",
    metavar="N",
    type=click.IntRange(0, 10_000),
    default=0,
    show_default=False,
    help="What if N members joined, subscribed to every topic that a member subscribes to.",
)
@click.option(
    "--reset",
    type=click.Choice(["earliest", "latest"]),
    help="Where the live group's consumers start without a commit: their auto_offset_reset.  "
    "[default: earliest]",
)
@click.option("--no-lag", is_flag=True, help="Do not ask for the live group's lag.")
@click.option("--load-topic", metavar="TOPIC", help="The topic with load forecasts of the live group.")
@click.option("--all", "everything", is_flag=True, help="Show every member and every change of a large plan.")
@output_option
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
    reset: str | None,
    no_lag: bool,
    load_topic: str | None,
    everything: bool,
    output: str,
) -> None:
    """Show how a strategy would assign a group, and why.

    The group comes from a JSON file or from a live cluster.  The command only reads from the cluster; members
    do not notice.
    """
    for is_wrong, message in (
        ((file is None) == (group_id is None), "give one of --file and --group"),
        (group_id == "", "--group must not be empty"),
        (compare and strategy in STRATEGIES, "--compare plans with every strategy: leave out --strategy"),
        (file and (bootstrap or config), "--bootstrap and --config need --group"),
        (file and (reset or no_lag), "--reset and --no-lag need --group: a file contains its lags"),
        (file and load_topic, "--load-topic needs --group: a file contains its forecasts"),
        (reset and no_lag, "--reset has no effect with --no-lag: leave one out"),
    ):
        if is_wrong:
            raise click.UsageError(message)

    content = _read_json(file)
    if file is not None and is_stateful(content):
        _refuse_partition_options(compare or strategy or leavers or joiners)
        _plan_stateful(file, content, options, as_json=output == "json", everything=everything)
        return
    settings = {} if file is not None else client_settings(bootstrap, config)
    in_file = None if file is None else _from_file(file, content, strategy)
    problem = in_file or Problem(*read_live_group(settings, str(group_id)))
    given = dict(named_value(text) for text in options)
    with as_usage_error("--strategy"):
        own = [load_strategy(strategy)] if strategy is not None and strategy not in STRATEGIES else []
    of_file = {name: value for name, value in problem.options.items() if name not in given}
    check_options("options.", of_file, own)
    check_options("--option ", given, own)
    if compare:
        kinds = [*STRATEGIES.values(), *own]
    else:
        kinds = own or [_strategy(strategy or problem.strategy or DEFAULT_STRATEGY, group_id)]
        refuse_foreign("--option ", kinds[0], given)
        if strategy is None:
            refuse_foreign("options.", kinds[0], problem.options)
    assignors = [with_options(kind, problem.options, given) for kind in kinds]
    group = problem.group
    if group_id is None:
        notes = about_given_lags(group)
        if not compare:
            notes += about_foreign(kinds[0], problem.options)
    else:
        notes = assumed(assignors, problem.strategy, given)
        if not no_lag and any(assignor.by_lag for assignor in assignors):
            group, lag_notes = with_live_lag(group, settings, group_id, reset)
            notes += lag_notes
    with as_usage_error("--without"):
        group, departed = without(group, leavers)
    group = joined(group, joiners, departed)

    lag_only = group
    forecasts = _expected(problem, settings, group_id, load_topic)
    group, forecast_notes = with_forecasts(lag_only, forecasts, assignors)
    without_forecasts = None if group is lag_only else lag_only

    by_counts = [] if no_lag else about_planning_by_counts(group, assignors)
    print_notes([*notes, *forecast_notes, *by_counts, *about_group(lag_only, assignors)])
    bound = lower_bound(group)
    plans = [solve(assignor, group, departed, bound, without_forecasts) for assignor in assignors]
    if output == "json":
        objects = [plan.as_json() for plan in plans]
        click.echo(json.dumps(objects if compare else objects[0]))
    else:
        show(comparison(plans) if compare else one_plan(plans[0], everything=everything))


# --- the group ---------------------------------------------------------------------------------------------


def _read_json(file: BinaryIO | None) -> object:
    if file is None:
        return None
    with as_usage_error(_name(file)):
        return parsed_json(file.read())


def _refuse_partition_options(given: object) -> None:
    if given:
        raise click.UsageError(
            f"strategy {STATEFUL!r} plans tasks: leave out --compare, --strategy, --without and --join"
        )


def _plan_stateful(
    file: BinaryIO, content: object, options: tuple[str, ...], *, as_json: bool, everything: bool
) -> None:
    """Plan the tasks of a stateful group (KIP-441), which has a JSON format of its own."""
    with as_usage_error(_name(file)):
        group, plan_options = parse_stateful(content, dict(named_value(text) for text in options))
    plan = plan_stateful(group, plan_options)
    if as_json:
        click.echo(json.dumps(stateful_json(plan)))
    else:
        show(stateful_table(group, plan, everything=everything))


def _from_file(file: BinaryIO, content: object, strategy: str | None) -> Problem:
    with as_usage_error(_name(file)):
        problem = parse_problem(content)
    # Refuse an unknown strategy in the file even if --strategy names another one.  With MODULE:CLASS accept
    # it, because it may be the name of the user's strategy.
    if problem.strategy is not None and ":" not in (strategy or ""):
        _strategy(problem.strategy, None)
    return problem


def _name(file: BinaryIO) -> str:
    name = getattr(file, "name", None)
    return shown(name) if isinstance(name, str) and name != "<stdin>" else "standard input"


def _expected(
    problem: Problem, settings: Mapping[str, Any], group_id: str | None, topic: str | None
) -> Expected | None:
    """Return the forecasts of the feed or of the file; None: there are none."""
    if group_id is not None and topic is not None:
        return read_feed(settings, group_id, topic, problem.group.topics)
    return None if problem.expected is None else Expected(problem.expected)


# --- the strategy ------------------------------------------------------------------------------------------


def _strategy(name: str, group_id: str | None) -> type[Assignor]:
    if name in STRATEGIES:
        return STRATEGIES[name]
    if group_id is None:
        raise click.UsageError(
            f"strategy: unknown {name!r}, expected one of {', '.join((STATEFUL, *STRATEGIES))}; "
            "or --strategy MODULE:CLASS for your own"
        )
    if name == STATEFUL:
        raise click.UsageError(
            f"group {group_id!r} is stateful: see kafka-assignors tasks; "
            "plan takes such a group from --file only"
        )
    raise click.UsageError(
        f"group {group_id!r} runs {name!r}, which is not in this package: give --strategy, {KNOWN}"
    )
