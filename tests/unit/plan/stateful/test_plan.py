"""Plans of stateful members, on small groups; tests/property checks the laws of KIP-441 on any group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest

from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.plan.stateful import (
    PlannedSubtopology,
    StatefulGroup,
    StatefulMember,
    Task,
    TaskPlanOptions,
    plan_stateful,
)

ONE_STANDBY = TaskPlanOptions(num_standby_replicas=1)
NO_STANDBY = TaskPlanOptions()


def tasks(*names: str) -> tuple[Task, ...]:
    """``0_1`` as a task."""
    return tuple(Task(name.split("_")[0], int(name.split("_")[1])) for name in names)


def member(  # a test reads best with everything but the id optional
    member_id: str,
    active: str = "",
    standby: str = "",
    lags: Mapping[str, int] | None = None,
    *,
    process: str | None = None,
    rack: str | None = None,
    generation: int = 1,
) -> StatefulMember:
    """A member; its standbys are caught up by default."""
    there = {**dict.fromkeys(standby.split(), 0), **(lags or {})}
    known = {tasks(name)[0]: lag for name, lag in there.items()}
    return StatefulMember(
        member_id, process, rack, tasks(*active.split()), tasks(*standby.split()), known, generation
    )


def group(
    *members: StatefulMember,
    partitions: int = 2,
    more: Iterable[PlannedSubtopology] = (),
    ends: Mapping[str, int] | None = None,
) -> StatefulGroup:
    """A group with subtopology 0, and more if given."""
    known = {tasks(name)[0]: end for name, end in (ends or {}).items()}
    return StatefulGroup((PlannedSubtopology("0", partitions), *more), members, known)


def test_group_without_history_starts_balanced_at_once() -> None:
    plan = plan_stateful(group(member("a"), member("b"), partitions=4), ONE_STANDBY)
    assert plan.active == {"a": tasks("0_0", "0_2"), "b": tasks("0_1", "0_3")}
    assert plan.standby == {"a": tasks("0_1", "0_3"), "b": tasks("0_0", "0_2")}
    assert plan.warmup == {"a": (), "b": ()}
    assert not plan.probing


def test_a_member_without_process_shares_none_that_has_the_name_of_its_id() -> None:
    plan = plan_stateful(group(member("a"), member("b", process="a")), ONE_STANDBY)
    assert plan.active == {"a": tasks("0_0"), "b": tasks("0_1")}
    assert plan.standby == {"a": tasks("0_1"), "b": tasks("0_0")}


def test_new_member_warms_up_while_its_task_stays() -> None:
    plan = plan_stateful(group(member("a", "0_0 0_1"), member("b")), NO_STANDBY)
    assert plan.active == {"a": tasks("0_0", "0_1"), "b": ()}
    assert plan.warmup == {"a": (), "b": tasks("0_0")}
    assert plan.probing


def test_caught_up_copy_is_promoted() -> None:
    plan = plan_stateful(group(member("a", "0_0 0_1"), member("b", standby="0_1")), NO_STANDBY)
    assert plan.active == {"a": tasks("0_0"), "b": tasks("0_1")}
    assert not plan.probing


def test_caught_up_copy_becomes_the_standby_of_a_promoted_one() -> None:
    """The owner died; its standby ``a`` takes over, and ``x`` has a copy from before."""
    there = group(
        member("a", standby="0_0"), member("b"), member("c"), member("x", lags={"0_0": 0}), partitions=1
    )
    plan = plan_stateful(there, ONE_STANDBY)
    assert plan.active["a"] == tasks("0_0")
    assert plan.standby["x"] == tasks("0_0")
    assert not plan.probing


@pytest.mark.parametrize(("lag", "moves"), [(10_000, True), (10_001, False)])
def test_acceptable_lag_counts_as_caught_up(lag: int, moves: bool) -> None:
    there = group(member("a", "0_0 0_1"), member("b", standby="0_1", lags={"0_1": lag}))
    assert (plan_stateful(there, NO_STANDBY).active["b"] == tasks("0_1")) == moves


def test_member_without_state_ranks_last_unless_the_changelog_is_short() -> None:
    """The rank without state is the changelog's length."""
    members = member("a", "0_0 0_1"), member("b")
    assert plan_stateful(group(*members), NO_STANDBY).active["b"] == ()
    short = plan_stateful(group(*members, ends={"0_0": 10_000, "0_1": 10_000}), NO_STANDBY)
    assert short.active["b"]
    assert not short.probing


def test_task_without_a_changelog_moves_at_once_and_has_no_standby() -> None:
    there = StatefulGroup((PlannedSubtopology("0", 2, logged=False),), (member("a", "0_0 0_1"), member("b")))
    plan = plan_stateful(there, ONE_STANDBY)
    assert plan.active["b"]
    assert not any(plan.standby.values())
    assert not plan.probing


def test_owner_that_reports_a_lag_is_behind() -> None:
    """An owner without a reported lag is caught up."""
    there = group(member("a", "0_0", lags={"0_0": 90_000}), member("b", standby="0_0"), partitions=1)
    assert plan_stateful(there, NO_STANDBY).active["b"] == tasks("0_0")


def test_standbys_of_one_member_are_spread_over_all_others() -> None:
    """When it dies its tasks move to many members, and few have to move again."""
    members = [member(m) for m in "abcde"]
    plan = plan_stateful(group(*members, partitions=20, more=[PlannedSubtopology("1", 20)]), ONE_STANDBY)
    active = {task: m for m, mine in plan.active.items() for task in mine}
    pairs = Counter((active[task], m) for m, mine in plan.standby.items() for task in mine)
    assert set(pairs.values()) == {2}
    assert len(pairs) == 5 * 4
    kinds = Counter((task.subtopology, m) for m, mine in plan.standby.items() for task in mine)
    assert set(kinds.values()) == {4}


def test_standby_is_in_another_rack_if_there_is_one() -> None:
    racks = [member(f"m{i}", rack="ab"[i % 2]) for i in range(4)]
    plan = plan_stateful(group(*racks, partitions=8), ONE_STANDBY)
    rack_of = {m.member_id: m.rack for m in racks}
    active = {task: rack_of[m] for m, mine in plan.active.items() for task in mine}
    assert all(active[task] != rack_of[m] for m, mine in plan.standby.items() for task in mine)
    same = [member(f"m{i}", rack="a") for i in range(2)]
    assert sum(map(len, plan_stateful(group(*same), ONE_STANDBY).standby.values())) == 2


def test_warm_ups_are_limited() -> None:
    there = group(member("a", " ".join(f"0_{i}" for i in range(8))), member("b"), partitions=8)
    for most in (1, 3, 100):
        plan = plan_stateful(there, TaskPlanOptions(max_warmup_replicas=most))
        assert len(plan.warmup["b"]) == min(most, 4)


def test_warm_up_once_begun_goes_on() -> None:
    there = group(
        member("a", "0_0 0_1 0_2 0_3"), member("b", standby="0_3", lags={"0_3": 90_000}), partitions=4
    )
    assert plan_stateful(there, TaskPlanOptions(max_warmup_replicas=1)).warmup["b"] == tasks("0_3")


def test_former_owner_becomes_the_standby() -> None:
    """Promoting a standby swaps roles, so no copy is built."""
    there = group(member("a", "0_0 0_1"), member("b", standby="0_0 0_1"))
    plan = plan_stateful(there, ONE_STANDBY)
    assert sorted(map(len, plan.active.values())) == [1, 1]
    assert set(plan.standby["a"]) == set(plan.active["b"])
    assert not plan.probing


def test_balance_factor_allows_only_the_moves_it_needs() -> None:
    """From 5 and 0 one task moves if 4 and 1 are within the factor, and begun copies go first."""
    there = group(member("a", "0_0 0_1 0_2 0_3 0_4"), member("b"), partitions=5)
    for factor, moves in ((5, 0), (4, 1), (3, 1), (2, 2), (1, 2)):
        plan = plan_stateful(there, TaskPlanOptions(balance_factor=factor, max_warmup_replicas=9))
        assert len(plan.target_active["b"]) == len(plan.warmup["b"]) == moves
    begun = group(
        member("a", "0_0 0_1 0_2 0_3 0_4"), member("b", standby="0_3", lags={"0_3": 20_000}), partitions=5
    )
    assert plan_stateful(begun, TaskPlanOptions(balance_factor=3)).target_active["b"] == tasks("0_3")


def test_balance_factor_above_one_gives_a_new_task_to_the_member_with_room() -> None:
    """A new subtopology comes to a group within the factor, so no owned task needs to move."""
    there = group(
        member("a", "0_0 0_1"),
        member("b"),
        more=(PlannedSubtopology("1", 1),),
        ends={"0_0": 10**6, "0_1": 10**6},
    )
    plan = plan_stateful(there, TaskPlanOptions(balance_factor=2))
    assert plan.active == plan.target_active == {"a": tasks("0_0", "0_1"), "b": tasks("1_0")}
    assert not plan.probing


def test_two_claims_of_one_generation_cancel_out() -> None:
    """The reported lag decides then; a claim of a newer generation counts."""
    claims = group(member("a", "0_0"), member("b", "0_0", lags={"0_0": 3}), partitions=1)
    assert plan_stateful(claims, NO_STANDBY).active["b"] == tasks("0_0")
    first = group(member("a", "0_0", lags={"0_0": 3}), member("b", "0_0"), partitions=1)
    assert plan_stateful(first, NO_STANDBY).active["a"] == tasks("0_0")
    newer = group(member("a", "0_0", generation=2), member("b", "0_0"), partitions=1)
    assert plan_stateful(newer, NO_STANDBY).active["a"] == tasks("0_0")


def test_least_lag_of_a_process_counts() -> None:
    """In any order of its members."""
    for lags in ((0, 50_000), (50_000, 0)):
        others = [member(m, process="p", lags={"0_0": lag}) for m, lag in zip("bc", lags, strict=True)]
        plan = plan_stateful(group(member("a", lags={"0_0": 20_000}), *others, partitions=1), NO_STANDBY)
        assert plan.active["a"] == ()


def test_member_that_keeps_the_copy_takes_over_in_its_process() -> None:
    others = member("b", process="p"), member("c", process="p", standby="0_0")
    assert plan_stateful(group(*others, partitions=1), NO_STANDBY).active["c"] == tasks("0_0")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acceptable_recovery_lag", -1),
        ("num_standby_replicas", -1),
        ("max_warmup_replicas", 0),
        ("balance_factor", 0),
        ("balance_factor", True),
        ("num_standby_replicas", 1.0),
    ],
)
def test_options_are_checked(name: str, value: object) -> None:
    with pytest.raises(OptionError, match=name):
        TaskPlanOptions(**{name: value})  # type: ignore[arg-type]  # that is the point


def test_group_is_checked() -> None:
    with pytest.raises(ProblemError, match="member"):
        group(member("a"), member("a"))
    with pytest.raises(ProblemError, match="two subtopologies"):
        group(more=[PlannedSubtopology("0", 1)])
    with pytest.raises(ProblemError, match="negative"):
        group(partitions=-1)


def test_standby_is_in_another_process() -> None:
    there = group(member("a", process="p"), member("b", process="p"), member("c", process="q"), partitions=3)
    plan = plan_stateful(there, ONE_STANDBY)
    in_p = {*plan.standby["a"], *plan.standby["b"]}
    assert in_p == set(plan.active["c"])
