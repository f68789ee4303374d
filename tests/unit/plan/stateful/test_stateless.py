"""Stateless tasks fill up the loads of a round: Java's cases, and each rule on a small group.

Java's cases are those of Kafka's ``HighAvailabilityTaskAssignorTest``, by their names there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

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


def test_java_should_assign_random_input() -> None:
    """50 members, 180 tasks, half of them stateful and with random members: no stateless task idles one."""
    rng = Random(441)
    stateful, stateless = list(tasks("0", range(90))), list(tasks("1", range(90)))
    owned: dict[str, list[Task]] = {f"m{i:02}": [] for i in range(50)}
    for task in (*stateful, *stateless):
        owned[rng.choice(sorted(owned))].append(task)
    members = [member(member_id, *mine) for member_id, mine in owned.items()]
    plan = plan_stateful(group(*members, stateful=90, stateless=(90,)), TaskPlanOptions())
    least = min(counts(plan).values())
    keeps = Counter(task.subtopology for task in stateful)
    assert keeps == Counter(t.subtopology for mine in plan.active.values() for t in mine if t in stateful)
    assert max(map(len, owned.values())) > least + 1, "the group was even before"
    for active in plan.active.values():
        assert len(active) <= least + 1 or set(active) <= set(stateful)


def test_newcomer_takes_over_stateless_tasks_at_once() -> None:
    """Of 4 stateful and 3 stateless tasks the newcomer gets the latter, without a warm-up before."""
    there = group(
        member("a", *tasks("0", range(4)), *tasks("1", range(3))), member("b"), stateful=4, stateless=(3,)
    )
    assert counts(plan_stateful(there)) == {"a": 4, "b": 3}


def test_total_comes_before_each_subtopology() -> None:
    """The newcomer has all of subtopology 2 and most of 1; with the state balanced, a part of each."""
    have = (*tasks("0", range(6)), *tasks("1", range(4)), *tasks("2", range(2)))
    waiting = plan_stateful(group(member("a", *have), member("b"), stateful=6, stateless=(4, 2)))
    assert counts(waiting) == {"a": 6, "b": 6}
    assert waiting.probing
    target = Counter((m, t.subtopology) for m, mine in waiting.target_active.items() for t in mine)
    assert target == {(m, kind): n for m in "ab" for kind, n in (("0", 3), ("1", 2), ("2", 1))}


def test_each_subtopology_is_as_even_as_the_total_allows() -> None:
    """Three newcomers share 6 and 3 stateless tasks as 2 and 1 each, while one member has all the state."""
    have = (*tasks("0", range(3)), *tasks("1", range(6)), *tasks("2", range(3)))
    there = group(member("a", *have), *(member(m) for m in "bcd"), stateful=3, stateless=(6, 3))
    plan = plan_stateful(there)
    for m in "bcd":
        assert Counter(task.subtopology for task in plan.active[m]) == {"1": 2, "2": 1}


def test_promotion_moves_as_many_stateless_tasks_as_it_takes() -> None:
    """Two stateful tasks are promoted: of three stateless ones two go back, and the others stay."""
    stateless = tasks("1", range(4))
    for promoted, back in (((0,), 1), ((0, 1), 2)):
        copies = tasks("0", promoted)
        there = group(
            member("a", *tasks("0", range(4))),
            member("b", *stateless, standby=copies),
            stateful=4,
            stateless=(4,),
        )
        plan = plan_stateful(there)
        assert set(copies) <= set(plan.active["b"])
        assert counts(plan) == {"a": 4, "b": 4}
        assert len(set(stateless) & set(plan.active["a"])) == back


def test_round_without_a_promotion_moves_nothing() -> None:
    """Although the target has stateless tasks elsewhere."""
    a = member("a", *tasks("0", range(4)))
    b = member("b", *tasks("1", range(3)), standby=tasks("0", (0, 1)), caught_up=False)
    plan = plan_stateful(group(a, b, stateful=4, stateless=(3,)))
    assert plan.probing
    assert {m.member_id: tuple(m.active) for m in (a, b)} == dict(plan.active)
    assert plan.active != plan.target_active


def test_task_given_up_by_its_owner_moves_to_the_newcomer() -> None:
    """A stateless task without an owner fills up the newcomer."""
    have = (*tasks("0", range(4)), *tasks("1", range(3)))
    first = plan_stateful(group(member("a", *have), member("b"), stateful=4, stateless=(3,)))
    kept = tuple(task for task in have if task in first.active["a"])
    second = plan_stateful(group(member("a", *kept), member("b"), stateful=4, stateless=(3,)))
    assert second.active == first.active


def test_balance_factor_above_one_leaves_totals_within_it() -> None:
    """At a factor of 2 nothing moves from 6 and 4 active tasks; from 8 and 2 only the moves to reach it."""
    options = TaskPlanOptions(balance_factor=2)
    have = tasks("0", range(5))
    stays = group(
        member("a", *have, *tasks("1", (0,))),
        member("b", *tasks("1", range(1, 5))),
        stateful=5,
        stateless=(5,),
    )
    assert counts(plan_stateful(stays, options)) == {"a": 6, "b": 4}
    moves = group(
        member("a", *have, *tasks("1", (0, 1, 2))),
        member("b", *tasks("1", (3, 4))),
        stateful=5,
        stateless=(5,),
    )
    assert counts(plan_stateful(moves, options)) == {"a": 6, "b": 4}


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
