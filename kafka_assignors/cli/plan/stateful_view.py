"""A plan for stateful members, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group as Lines
from rich.text import Text

from kafka_assignors.cli.plan.problem import VERSION
from kafka_assignors.cli.plan.stateful_problem import STATEFUL
from kafka_assignors.cli.tables import MEMBERS, ROWS, Columns, counted, more, short_names
from kafka_assignors.plan import shown
from kafka_assignors.plan.stateful import StatefulGroup, StatefulPlan, Task


def stateful_json(plan: StatefulPlan) -> dict[str, Any]:
    """Return the JSON of a ``stateful`` plan, version 1."""

    def names(tasks: Mapping[str, tuple[Task, ...]]) -> dict[str, list[str]]:
        return {member: [str(task) for task in assigned] for member, assigned in tasks.items()}

    return {
        "version": VERSION,
        "strategy": STATEFUL,
        "active": names(plan.active),
        "standby": names(plan.standby),
        "warmup": names(plan.warmup),
        "probing": plan.probing,
        "target": {"active": names(plan.target_active), "standby": names(plan.target_standby)},
    }


def stateful_table(group: StatefulGroup, plan: StatefulPlan, *, everything: bool) -> Lines:
    """Return each member's numbers of tasks in the plan and in the target, and the tasks that move."""
    names = short_names(plan.active)
    table = Columns("member", ">active", ">standby", ">warm-up", ">target: active", ">standby")
    parts = (plan.active, plan.standby, plan.warmup, plan.target_active, plan.target_standby)
    ids = list(plan.active)
    for member in ids if everything else ids[:MEMBERS]:
        table.add_row(names[member], *(f"{len(part.get(member, ())):,}" for part in parts))
    tasks = sum(map(len, plan.active.values()))
    lines: list[Text | Columns] = [
        Text.assemble((STATEFUL, "bold"), f": {counted(len(ids), 'member')}, {counted(tasks, 'task')}"),
        Text(
            "the target waits for warm-ups: plan again when they have caught up\n"
            if plan.probing
            else "the plan is the target: no warm-ups\n"
        ),
        table,
    ]
    if not everything:
        lines += more(len(ids) - MEMBERS)
    moves = _moves(group, plan)
    if moves:
        shown_moves = moves if everything else moves[:ROWS]
        move_table = Columns("task", "from", "now", "target", "warming up")
        for task, *members in shown_moves:
            cells = (", ".join(names.get(m) or shown(m) for m in owners) or "-" for owners in members)
            move_table.add_row(shown(str(task)), *cells)
        lines += [Text(), move_table]
        if not everything:
            lines += more(len(moves) - ROWS)
    return Lines(*lines)


def _moves(
    group: StatefulGroup, plan: StatefulPlan
) -> list[tuple[Task, list[str], list[str], list[str], list[str]]]:
    """Return tasks that change their active member or have a warm-up.

    Each has its active members before, in the plan and in the target, and its warm-ups.
    """

    def by_task(tasks: Mapping[str, tuple[Task, ...]]) -> dict[Task, list[str]]:
        members_of: dict[Task, list[str]] = {}
        for member, assigned in tasks.items():
            for task in assigned:
                members_of.setdefault(task, []).append(member)
        return members_of

    before = by_task({member.member_id: tuple(dict.fromkeys(member.active)) for member in group.members})
    now, target, warm = by_task(plan.active), by_task(plan.target_active), by_task(plan.warmup)
    return [
        (task, before.get(task, []), now[task], target[task], warm.get(task, []))
        for task in sorted(now)
        if not before.get(task, []) == now[task] == target[task] or task in warm
    ]
