"""One plan, or several side by side, as tables for a terminal of any width."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.plan.strategy_plan import StrategyPlan, in_records
from kafka_assignors.cli.tables import (
    MEMBERS,
    ROWS,
    Columns,
    counted,
    more,
    partition_name,
    short_names,
)
from kafka_assignors.plan import UNKNOWN_LAG, Reason, Why, shown

_STAYS = {Reason.KEPT, Reason.STAYS}
_TAKEN = {  # reasons of partitions taken from an owner that is still a member
    Reason.MOVED,
    Reason.LOAD,
    Reason.EXPECTED_LOAD,
    Reason.NEARER,
    Reason.HIGHEST,
    Reason.ACTIVE,
    Reason.DEALT,
    Reason.DEALT_BY_LAG,
    Reason.OWNER_UNSUBSCRIBED,
}


def one_plan(plan: StrategyPlan, *, everything: bool) -> Lines:
    """Return a plan's metrics, its members, and the partitions that change owner."""
    names = short_names(plan.assignment)
    metrics, why = plan.metrics, plan.why
    changed = [partition for partition in why if partition.reason not in _STAYS]
    reasons = Counter(partition.reason for partition in why)
    parts: list[Text | Columns] = [
        Text.assemble(
            (plan.strategy, "bold"),
            f": {counted(metrics.members, 'member')}, {counted(len(why), 'partition')} "
            f"of {counted(len(plan.group.topics), 'topic')}",
        ),
        Text(
            f"largest load {plan.max_load:,}{_unit(plan)}, "
            f"no plan has less than {plan.load_lower_bound:,}\n"
            f"kept {metrics.kept:,}, moved {metrics.moved:,}, spread {metrics.spread:,}, "
            f"balance score {metrics.balance_score:,}"
            + ("\n" if metrics.near is None else f"\nnear a replica: {metrics.near:,} of {len(why):,}\n")
        ),
        _members(plan, names, everything=everything),
    ]
    if not everything:
        parts += more(len(plan.assignment) - MEMBERS)
    parts.append(
        Text("\n" + ", ".join(f"{count:,} {reason.value}" for reason, count in reasons.most_common()))
    )
    if changed:
        parts.append(Text())
        parts.append(_changes(plan, changed if everything else changed[:ROWS], names))
        if not everything:
            parts += more(len(changed) - ROWS)
    return Lines(*parts)


def comparison(plans: Sequence[StrategyPlan]) -> Lines:
    """Return a table with a row for each strategy."""
    by_rack = any(plan.metrics.near is not None for plan in plans)
    figures = (">kept", ">moved", ">wait", ">max load", ">spread", ">balance score", *[">near"] * by_rack)
    table = Columns("strategy", *figures)
    for plan in plans:
        waiting = sum(why.waits_for is not None for why in plan.why)
        table.add_row(
            Text(plan.strategy, style="bold"),
            f"{plan.metrics.kept:,}",
            f"{plan.metrics.moved:,}",
            "-" if plan.first_round is None else f"{waiting:,}",
            f"{plan.max_load:,}",
            f"{plan.metrics.spread:,}",
            f"{plan.metrics.balance_score:,}",
            *["-" if plan.metrics.near is None else f"{plan.metrics.near:,}"] * by_rack,
        )
    first = plans[0]
    return Lines(
        Text(
            f"{counted(first.metrics.members, 'member')}, {counted(len(first.why), 'partition')} "
            f"of {counted(len(first.group.topics), 'topic')}\n"
            f"no plan has a max load of less than {first.load_lower_bound:,}{_unit(first)}"
        ),
        Text(),
        table,
        Text("\nwait: held back in the first round; -: eager, each member revokes everything", style="dim"),
    )


def _members(plan: StrategyPlan, names: Mapping[str, str], *, everything: bool) -> Columns:
    owned, kept = _owned_and_kept(plan)
    is_cooperative = plan.first_round is not None
    lag = plan.lag_of_members()
    figures = (">partitions", *[">lag"] * (lag is not None), ">kept", ">gained", ">lost")
    table = Columns("member", *figures, *[">first round"] * is_cooperative)
    ids = list(plan.assignment)
    for member_id in ids if everything else ids[:MEMBERS]:
        partitions, stay = _partition_count(plan.assignment[member_id]), kept[member_id]
        member_lag = [] if lag is None else [lag[member_id]]
        row = [f"{n:,}" for n in (partitions, *member_lag, stay, partitions - stay, owned[member_id] - stay)]
        if plan.first_round is not None:
            row.append(f"{_partition_count(plan.first_round[member_id]):,}")
        table.add_row(names[member_id], *row)
    return table


def _owned_and_kept(plan: StrategyPlan) -> tuple[Counter[str], Counter[str]]:
    """Return how many partitions each member owned, and how many it keeps, counted from the reasons."""
    owned: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for why in plan.why:
        if why.reason in _STAYS and why.member_id is not None:
            kept[why.member_id] += 1
            owned[why.member_id] += 1
        elif why.reason in _TAKEN or (why.reason is Reason.NOBODY_SUBSCRIBES and len(why.others) == 1):
            owned[why.others[0]] += 1
    return owned, kept


def _changes(plan: StrategyPlan, changed: Collection[Why], names: Mapping[str, str]) -> Columns:
    group = plan.group
    with_lag = in_records(group)
    table = Columns("partition", *[">lag"] * with_lag, "from", "to", "why")
    for why in changed:
        lag = int(group.known_lag[group.first[why.topic] + why.partition])
        table.add_row(
            partition_name(why.topic, why.partition),
            *["?" if lag == UNKNOWN_LAG else f"{lag:,}"] * with_lag,
            ", ".join(names.get(name) or shown(name) for name in why.others) or "-",
            "-" if why.member_id is None else names[why.member_id],
            why.reason.value if why.waits_for is None else f"{why.reason.value}, waits",
        )
    return table


def _partition_count(topics: Mapping[str, Sequence[int]]) -> int:
    return sum(map(len, topics.values()))


def _unit(plan: StrategyPlan) -> str:
    """Return the unit to print after a load; nothing for a number of partitions."""
    return "" if plan.load_unit == "partitions" else f" {plan.load_unit}"
