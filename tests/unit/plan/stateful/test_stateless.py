"""Stateless tasks fill up the loads of a round: a case of Java's, and each rule on a small group.

Java's case is that of Kafka's ``HighAvailabilityTaskAssignorTest``, by its name there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    StatefulPlan,
    Task,
    TaskPlanOptions,
    plan_stateful,
)

ONE_STANDBY = TaskPlanOptions(num_standby_replicas=1)


def tasks(subtopology: str, numbers: Iterable[int]) -> tuple[Task, ...]:
    return tuple(Task(subtopology, number) for number in numbers)


def member(
    member_id: str, *active: Task, standby: tuple[Task, ...] = (), caught_up: bool = True
) -> StatefulMember:
    lags = dict.fromkeys(standby, 0 if caught_up else 90_000)
    return StatefulMember(member_id, active=active, standby=standby, lags=lags, generation=1)


def group(*members: StatefulMember, stateful: int, stateless: tuple[int, ...]) -> StatefulGroup:
    """Subtopology 0 keeps state, 1 and further ones do not."""
    more = (PlannedSubtopology(str(i), count, stateful=False) for i, count in enumerate(stateless, 1))
    return StatefulGroup((PlannedSubtopology("0", stateful), *more), members)


def counts(plan: StatefulPlan) -> dict[str, int]:
    return {member_id: len(active) for member_id, active in plan.active.items()}


def test_java_should_distribute_stateless_tasks_to_balance_total_task_load() -> None:
    """The newcomer gets all stateless tasks, as it cannot run a stateful one yet: 4 and 3, not 6 and 1."""
    there = group(member("a", *tasks("0", range(4))), member("b"), stateful=4, stateless=(3,))
    plan = plan_stateful(there, ONE_STANDBY)
    assert plan.active == {"a": tasks("0", range(4)), "b": tasks("1", range(3))}
    assert plan.standby == {"a": (), "b": tasks("0", range(4))}
    assert plan.probing
    assert sorted(len(active) for active in plan.target_active.values()) == [3, 4]


@pytest.mark.parametrize("of_a", [1, 3])
def test_balance_factor_above_one_leaves_totals_within_it(of_a: int) -> None:
    """At a factor of 2 nothing moves from 6 and 4 active tasks; from 8 and 2 only the moves to reach it."""
    a = member("a", *tasks("0", range(5)), *tasks("1", range(of_a)))
    b = member("b", *tasks("1", range(of_a, 5)))
    plan = plan_stateful(group(a, b, stateful=5, stateless=(5,)), TaskPlanOptions(balance_factor=2))
    assert counts(plan) == {"a": 6, "b": 4}


def test_free_stateless_tasks_fill_up_uneven_stateful_ones_without_a_move() -> None:
    """`a` runs all stateful tasks until `b` has copies, so only the totals count."""
    a = member("a", *tasks("0", range(8)), *tasks("1", [0]), *tasks("2", [1]))
    b = member("b", *tasks("2", (0, 3, 4, 6)))
    ends = dict.fromkeys(tasks("0", range(8)), 10**6)
    there = replace(group(a, b, stateful=8, stateless=(3, 8)), end_offsets=ends)
    plan = plan_stateful(there, TaskPlanOptions(balance_factor=2))
    assert set(a.active) <= set(plan.active["a"])
    assert set(b.active) <= set(plan.active["b"])


def test_stateless_tasks_do_not_decide_who_runs_a_free_stateful_one() -> None:
    """In a second round: `b` has stateless tasks only, and gets the task that `a` has just revoked."""
    copies = tasks("0", range(4))
    members = (
        StatefulMember("a", active=tasks("0", (2, 3)), lags=dict.fromkeys(copies, 0), generation=1),
        StatefulMember(
            "b", active=tasks("1", range(2)), standby=copies, lags=dict.fromkeys(copies, 0), generation=1
        ),
    )
    ends = dict.fromkeys(copies, 150_000)
    there = StatefulGroup(
        (PlannedSubtopology("0", 4), PlannedSubtopology("1", 2, stateful=False)), members, ends
    )
    plan = plan_stateful(there, ONE_STANDBY)
    assert {task for task in plan.active["a"] if task.subtopology == "0"} == {*tasks("0", (2, 3))}
    assert not plan.probing


def test_round_without_a_promotion_moves_nothing() -> None:
    """Although the target has stateless tasks elsewhere."""
    a = member("a", *tasks("0", range(4)))
    b = member("b", *tasks("1", range(3)), standby=tasks("0", (0, 1)), caught_up=False)
    plan = plan_stateful(group(a, b, stateful=4, stateless=(3,)))
    assert plan.probing
    assert {m.member_id: tuple(m.active) for m in (a, b)} == dict(plan.active)
    assert plan.active != plan.target_active
