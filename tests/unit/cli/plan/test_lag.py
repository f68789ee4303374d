"""``kafka-assignors plan`` with lag: loads in records, the gain of planning by lag, and notes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from kafka_assignors.cli.plan.problem import parse_problem
from kafka_assignors.cli.plan.strategy_plan import lower_bound, solve
from kafka_assignors.plan import Group, lag_lower_bound, load_lower_bound
from kafka_assignors.strategies import STRATEGIES
from tests.support.plan.builders import groups, lagging
from tests.unit.cli.plan.planning import call, planned, usage

BY_LAG = ("lag-aware", "cooperative-lag-aware")

SKEWED: dict[str, Any] = {
    "strategy": "cooperative-lag-aware",
    "topics": {"clicks": 2, "orders": 2},
    "members": [
        {"id": "c1", "owned": [["clicks", 0], ["orders", 0]], "generation": 5},
        {"id": "c2", "owned": [["clicks", 1], ["orders", 1]], "generation": 5},
    ],
    "lags": {"clicks": [900, 100], "orders": [600, 200]},
}


def loads_of(assignment: dict[str, list[list[Any]]], lags: dict[str, list[int]]) -> dict[str, int]:
    return {member: sum(lags[topic][p] for topic, p in mine) for member, mine in assignment.items()}


# --- JSON --------------------------------------------------------------------------------------------------


def test_loads_are_in_records_and_moves_wait_for_their_round() -> None:
    answer = planned(problem=SKEWED)
    assert loads_of(answer["assignment"], SKEWED["lags"]) == {"c1": 1000, "c2": 800}
    assert answer["metrics"] == {
        "balance_score": 0,
        "spread": 2,
        "kept": 2,
        "moved": 2,
        "max_load": 1000,
        "load_lower_bound": 900,
        "load_unit": "records",
    }
    assert answer["first_round"] == {"c1": [["clicks", 0]], "c2": [["orders", 1]]}
    assert [why["reason"] for why in answer["why"]] == [
        *("kept", "moved for load: c2; waits for revocation by c2"),
        *("moved for load: c1; waits for revocation by c1", "kept"),
    ]


def test_loads_are_weighted_by_capacity() -> None:
    members = [SKEWED["members"][0], {**SKEWED["members"][1], "capacity": 3}]
    problem = SKEWED | {"members": members}
    answer = planned(problem=problem)
    assert loads_of(answer["assignment"], SKEWED["lags"]) == {"c1": 300, "c2": 1500}
    loads = {"max_load": 1500, "load_lower_bound": 1500, "load_unit": "weighted records"}
    assert loads.items() <= answer["metrics"].items()
    assert "largest load 1,500 weighted records, no plan has less than 1,500" in call(problem=problem).stdout


def test_compare_shows_the_gain_of_planning_by_lag() -> None:
    """The load of strategies that ignore lag is in records, too, and no strategy is below the bound."""
    compared = {entry["strategy"]: entry["metrics"] for entry in planned("--compare", problem=SKEWED)}
    assert list(compared) == list(STRATEGIES)
    assert {metrics["load_unit"] for metrics in compared.values()} == {"records"}
    assert {metrics["load_lower_bound"] for metrics in compared.values()} == {900}
    most = {name: metrics["max_load"] for name, metrics in compared.items()}
    assert (most["cooperative-sticky"], most["failover"]) == (1500, 1800)
    assert most["cooperative-lag-aware"] == min(most.values()) == 1000


def test_group_without_lag_is_compared_by_counts() -> None:
    """As if its lag were not known, in JSON and in tables."""
    idle = SKEWED | {"lags": {"clicks": [0, 0], "orders": [0, 0]}}
    unknown = {name: value for name, value in SKEWED.items() if name != "lags"}
    assert planned("--compare", problem=idle) == planned("--compare", problem=unknown)
    assert call(problem=idle).stdout == call(problem=unknown).stdout


def test_lower_bound_has_the_unit_of_loads() -> None:
    problem = {"topics": {"a": 3}, "members": [{"id": "c1"}, {"id": "c2"}]}
    for lags, unit, bound in (
        ({}, "partitions", load_lower_bound),
        ({"lags": {"a": [None, None]}}, "partitions", load_lower_bound),
        ({"lags": {"a": [0]}}, "partitions", load_lower_bound),
        ({"lags": {"a": [None, 1]}}, "records", lag_lower_bound),
        ({"lags": {"a": [7, 5]}}, "records", lag_lower_bound),
    ):
        group: Group = parse_problem(problem | lags).group
        metrics = planned("--strategy", "sticky", problem=problem | lags)["metrics"]
        assert (metrics["load_unit"], metrics["load_lower_bound"]) == (unit, bound(group)), lags


@given(group=groups() | lagging(groups()))
def test_no_strategy_beats_the_lower_bound(group: Group) -> None:
    """Unequal subscriptions, partly or wholly unknown lag, topics without subscribers."""
    bound = lower_bound(group)
    for kind in STRATEGIES.values():
        outcome = solve(kind(), group, (), bound)
        assert bound <= outcome.max_load, kind.name
        of_members = outcome.lag_of_members()
        assert (of_members is None) == (outcome.load_unit == "partitions")
        if outcome.load_unit == "records":
            assert of_members is not None
            assert max(of_members.values()) == outcome.max_load


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("words", [(), ("--compare",)])
def test_no_number_is_cut(words: tuple[str, ...], width: int) -> None:
    huge = SKEWED | {"lags": {"clicks": [10**9, 7 * 10**9], "orders": [3 * 10**9, 2 * 10**9]}}
    metrics = [entry["metrics"] for entry in planned("--compare", problem=huge)]
    shown = call(*words, problem=huge, width=width).stdout
    assert max(map(len, shown.splitlines())) <= width
    for number in {entry["max_load"] for entry in metrics} if words else {metrics[-2]["max_load"]}:
        assert f"{number:,}" in {word.rstrip(",") for word in shown.split()}
    assert "…" not in shown


# --- options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["in the file", "on the command line"])
def test_options_of_a_lag_strategy_reach_its_plan(where: str) -> None:
    """Without a rule of counts, the heavy partition can have a member for itself."""
    problem = SKEWED | {"topics": {"t": 4}, "lags": {"t": [900, 100, 100, 100]}}
    problem["members"] = [{"id": "c1"}, {"id": "c2"}]
    assert planned(problem=problem)["metrics"]["max_load"] == 1000
    if where == "in the file":
        answer = planned(problem=problem | {"options": {"max_partition_skew": None, "min_improvement": 0}})
    else:
        words = ("--option", "max_partition_skew=null", "--option", "min_improvement=0")
        answer = planned(*words, problem=problem | {"options": {"max_partition_skew": 1}})
    assert (answer["metrics"]["max_load"], answer["metrics"]["balance_score"]) == (900, 2)


def test_option_of_another_strategy_is_refused() -> None:
    """In the file it is ignored with a note if --strategy names another strategy."""
    whose = "not an option of sticky, but of cooperative-lag-aware"
    with_option = SKEWED | {"options": {"min_improvement": 0.5}}
    assert f"--option min_improvement: {whose}" in usage(
        "--strategy", "sticky", "--option", "min_improvement=0", problem=SKEWED
    )
    assert f"options.min_improvement: {whose}" in usage(problem=with_option | {"strategy": "sticky"})
    ignored = call("--strategy", "sticky", problem=with_option)
    assert (ignored.exit_code, f"note: options.min_improvement: {whose}\n" in ignored.stderr) == (0, True)


def test_compare_passes_options_to_their_strategies() -> None:
    words = ("--compare", "--option", "min_improvement=0.5", "--option", "preempt=false")
    result = call(*words, problem=SKEWED)
    assert (result.exit_code, result.stderr) == (0, "")
    moved = {entry["strategy"]: entry["metrics"]["moved"] for entry in planned(*words, problem=SKEWED)}
    assert moved["cooperative-lag-aware"] == 0
    assert "--option preempt: expected true or false" in usage("--compare", "--option", "preempt=7")


# --- tables ------------------------------------------------------------------------------------------------


def test_unknown_lag_is_a_question_mark() -> None:
    """Not the guess the plan is made with."""
    problem = SKEWED | {"members": [{"id": "c1"}, {"id": "c2"}], "lags": {"clicks": [None, 70]}}
    result = call(problem=problem)
    assert result.stderr == "note: no lag for 3 of 4 partitions: each counts as its topic's mean\n"
    shown = result.stdout
    assert re.search(r"^clicks-0 +\? +- +c\d +no owner before$", shown, re.MULTILINE)
    assert re.search(r"^clicks-1 +70 +- +c\d +no owner before$", shown, re.MULTILINE)


def test_member_with_fewer_partitions_by_lag_has_lost_some() -> None:
    members = [{"id": "c1", "owned": [["t", p] for p in range(4)], "generation": 5}, {"id": "c2"}]
    problem = {"topics": {"t": 4}, "members": members, "lags": {"t": [40, 30, 20, 10]}}
    for name, most in (("lag-aware", "dealt by lag"), ("cooperative-lag-aware", "moved for balance")):
        table = call("--strategy", name, problem=problem).stdout
        assert re.search(r"^c1 +2 +50 +2 +0 +2", table, re.MULTILINE), table
        assert f"2 {most}" in table


# --- notes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", BY_LAG)
def test_lag_strategy_without_lag_notes_planning_by_counts(strategy: str) -> None:
    assert call("--strategy", strategy).stderr == "note: no lags: planning by counts\n"
    assert call("--strategy", strategy, problem={}).stderr == ""
    assert call("--compare").stderr == ""


def test_lags_too_large_to_add_are_noted() -> None:
    """All of them together have to fit into 64 bits."""
    lags = {"clicks": [2**63 - 1, 2**61], "orders": [1, 1]}
    result = call("--output", "json", problem=SKEWED | {"lags": lags})
    assert result.stderr == f"note: lags above {2**60:,} count as {2**60:,}\n"
    assert json.loads(result.stdout)["metrics"]["max_load"] == 2**60 + 1
