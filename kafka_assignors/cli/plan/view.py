"""A plan, and several side by side, as tables for a terminal of any width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.plan.outcome import Outcome, in_records
from kafka_assignors.cli.tables import (
    MEMBERS,
    ROWS,
    Columns,
    columns,
    counted,
    more,
    partition_name,
    short_names,
)
from kafka_assignors.plan import UNKNOWN_LAG, Reason, Why, shown

__all__ = ["comparison", "one_plan"]

_STAYS = {Reason.KEPT, Reason.STAYS}
_TAKEN = {  # from an owner that is still there
    Reason.MOVED,
    Reason.LOAD,
    Reason.NEARER,
    Reason.HIGHEST,
    Reason.ACTIVE,
    Reason.DEALT,
    Reason.DEALT_BY_LAG,
    Reason.OWNER_UNSUBSCRIBED,
}


def one_plan(outcome: Outcome, *, everything: bool) -> Lines:
    """What a strategy would do: figures, members, and what does not stay where it is."""
    names = short_names(outcome.assignment)
    metrics, why = outcome.metrics, outcome.why
    changed = [one for one in why if one.reason not in _STAYS]
    found = Counter(one.reason for one in why)
    parts: list[Text | Columns] = [
        Text.assemble(
            (outcome.strategy, "bold"),
            f": {counted(metrics.members, 'member')}, {counted(len(why), 'partition')} "
            f"of {counted(len(outcome.group.topics), 'topic')}",
        ),
        Text(
            f"largest load {outcome.max_load:,}{_records(outcome)}, "
            f"no plan has less than {outcome.load_lower_bound:,}\n"
            f"kept {metrics.kept:,}, moved {metrics.moved:,}, spread {metrics.spread:,}, "
            f"balance score {metrics.balance_score:,}"
            + ("\n" if metrics.near is None else f"\nnear a replica: {metrics.near:,} of {len(why):,}\n")
        ),
        _members(outcome, names, everything=everything),
    ]
    if not everything:
        parts += more(len(outcome.assignment) - MEMBERS)
    parts.append(Text("\n" + ", ".join(f"{count:,} {reason.value}" for reason, count in found.most_common())))
    if changed:
        parts.append(Text())
        parts.append(_changes(outcome, changed if everything else changed[:ROWS], names))
        if not everything:
            parts += more(len(changed) - ROWS)
    return Lines(*parts)


def comparison(outcomes: Sequence[Outcome]) -> Lines:
    """All strategies side by side, a row each."""
    by_rack = any(one.metrics.near is not None for one in outcomes)
    figures = (">kept", ">moved", ">wait", ">max load", ">spread", ">balance score", *[">near"] * by_rack)
    table = columns("strategy", *figures)
    for one in outcomes:
        waiting = sum(why.waits_for is not None for why in one.why)
        table.add_row(
            Text(one.strategy, style="bold"),
            f"{one.metrics.kept:,}",
            f"{one.metrics.moved:,}",
            "-" if one.first_round is None else f"{waiting:,}",
            f"{one.max_load:,}",
            f"{one.metrics.spread:,}",
            f"{one.metrics.balance_score:,}",
            *["-" if one.metrics.near is None else f"{one.metrics.near:,}"] * by_rack,
        )
    first = outcomes[0]
    return Lines(
        Text(
            f"{counted(first.metrics.members, 'member')}, {counted(len(first.why), 'partition')} "
            f"of {counted(len(first.group.topics), 'topic')}\n"
            f"no plan has a max load of less than "
            f"{first.load_lower_bound:,}{_records(first)}"
        ),
        Text(),
        table,
        Text("\nwait: held back in the first round; -: eager, everybody revokes everything", style="dim"),
    )


def _members(outcome: Outcome, names: Mapping[str, str], *, everything: bool) -> Columns:
    had, kept = _owned_and_kept(outcome)
    cooperative = outcome.first_round is not None
    lag = outcome.lag_of_members()
    figures = (">partitions", *[">lag"] * (lag is not None), ">kept", ">gained", ">lost")
    table = columns("member", *figures, *[">first round"] * cooperative)
    ids = list(outcome.assignment)
    for member_id in ids if everything else ids[:MEMBERS]:
        load, stay = _load(outcome.assignment[member_id]), kept[member_id]
        mine = [] if lag is None else [lag[member_id]]
        row = [f"{n:,}" for n in (load, *mine, stay, load - stay, had[member_id] - stay)]
        if outcome.first_round is not None:
            row.append(f"{_load(outcome.first_round[member_id]):,}")
        table.add_row(Text(names[member_id]), *row)
    return table


def _owned_and_kept(outcome: Outcome) -> tuple[Counter[str], Counter[str]]:
    """How many partitions each member owned, and keeps, as the reasons have it."""
    had: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for why in outcome.why:
        if why.reason in _STAYS and why.member_id is not None:
            kept[why.member_id] += 1
            had[why.member_id] += 1
        elif why.reason in _TAKEN:
            had[why.others[0]] += 1
    return had, kept


def _changes(outcome: Outcome, changed: Collection[Why], names: Mapping[str, str]) -> Columns:
    group = outcome.group
    with_lag = in_records(group)
    table = columns("partition", *[">lag"] * with_lag, "from", "to", "why")
    for why in changed:
        lag = int(group.known_lag[group.first[why.topic] + why.partition])
        table.add_row(
            Text(partition_name(why.topic, why.partition)),
            *["?" if lag == UNKNOWN_LAG else f"{lag:,}"] * with_lag,
            Text(", ".join(names.get(name) or shown(name) for name in why.others) or "-"),
            Text("-" if why.member_id is None else names[why.member_id]),
            Text(why.reason.value if why.waits_for is None else f"{why.reason.value}, waits"),
        )
    return table


def _load(topics: Mapping[str, Sequence[int]]) -> int:
    return sum(map(len, topics.values()))


def _records(outcome: Outcome) -> str:
    """Behind a load: a number of partitions goes without saying."""
    return " records" if outcome.load_unit == "records" else ""
