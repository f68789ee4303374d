"""``plan`` with forecasts: ``expected`` beside ``lags``, and the strategies that use it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cli.plan.planning import call, planned, usage

# By lag alone, c1 may keep the partition that will be busy.
BUSY_SOON: dict[str, Any] = {
    "strategy": "cooperative-lag-aware",
    "topics": {"orders": 4},
    "members": [
        {"id": "c1", "owned": [["orders", 0], ["orders", 1]], "generation": 5},
        {"id": "c2", "owned": [["orders", 2], ["orders", 3]], "generation": 5},
    ],
    "lags": {"orders": [50, 60, 55, 50]},
    "expected": {"orders": [900.4, 800, 0, 10]},
}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in BUSY_SOON.items() if key != name}


def test_plan_balances_lag_and_forecast_arrivals() -> None:
    """950, 860, 55 and 60: the heavy two part."""
    answer = planned(problem=BUSY_SOON)
    assert answer["metrics"]["max_load"] == 950 + 55
    assert answer["metrics"]["load_unit"] == "records"
    reasons = {why["reason"].partition(":")[0] for why in answer["why"]}
    assert reasons == {"kept", "moved for expected load"}
    before = planned(problem=without("expected"))
    assert {why["reason"] for why in before["why"]} == {"kept"}
    assert before["metrics"]["max_load"] == 110


def test_table_counts_moves_for_expected_load_as_lost_and_a_note_explains_loads() -> None:
    result = call(problem=BUSY_SOON)
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line}
    assert [rows[name][5] for name in ("c1", "c2")] == ["1", "1"]
    assert result.stderr == "note: loads are lag and forecast arrivals\n"


def test_forecasts_without_lags_are_enough() -> None:
    answer = planned(problem=without("lags"))
    assert answer["metrics"]["max_load"] == 900
    assert answer["metrics"]["load_unit"] == "records"
    assert call(problem=without("lags")).stderr == "note: loads are forecast arrivals\n"


def test_partition_without_forecast_counts_as_the_mean() -> None:
    problem = {**BUSY_SOON, "expected": {"orders": [900, None, 100]}}
    result = call("--output", "json", problem=problem)
    assert json.loads(result.stdout)["metrics"]["max_load"] == 60 + 500 + 50 + 500
    assert "note: no forecast for 2 of 4 partitions: each counts as the mean of its topic\n" in result.stderr


def test_too_few_forecasts_are_ignored() -> None:
    problem = {**BUSY_SOON, "expected": {"orders": [900]}}
    result = call(problem=problem)
    assert "note: forecasts for only 1 of 4 partitions: planning by lag alone\n" in result.stderr
    assert planned(problem=problem) == planned(problem=without("expected"))
    result = call(problem={**without("lags"), "expected": {"orders": [900]}})
    assert result.stderr.splitlines() == [
        "note: forecasts for only 1 of 4 partitions",
        "note: no lags: planning by counts",
    ]


def test_strategy_without_forecasts_notes_it() -> None:
    result = call("--strategy", "lag-aware", problem=BUSY_SOON)
    assert "note: strategy 'lag-aware' does not use forecasts\n" in result.stderr
    for name in ("lag-aware", "sticky"):
        assert planned("--strategy", name, problem=BUSY_SOON) == planned(
            "--strategy", name, problem=without("expected")
        )


def test_compare_measures_all_strategies_by_the_same_loads() -> None:
    answer = {plan["strategy"]: plan for plan in planned("--compare", problem=without("strategy"))}
    by_lag = {plan["strategy"]: plan for plan in planned("--compare", problem=without("expected"))}
    for name, plan in answer.items():
        if name != "cooperative-lag-aware":
            assert plan["assignment"] == by_lag[name]["assignment"], name
            assert plan["why"] == by_lag[name]["why"], name
    assert answer["sticky"]["metrics"]["max_load"] == 950 + 860
    assert answer["cooperative-lag-aware"]["metrics"]["max_load"] == 950 + 55


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"orders": [-1]}, "expected.orders[0]: expected a number >= 0.0, got -1"),
        ({"orders": [0, "5"]}, 'expected.orders[1]: expected a number or null, got "5"'),
        ({"orders": [1e300]}, "expected.orders[0]: expected a number < 9.223372036854776e+18, got 1e+300"),
    ],
)
def test_invalid_forecasts_are_refused_by_name(expected: object, message: str) -> None:
    assert message in usage(problem={**BUSY_SOON, "expected": expected})


def test_load_topic_needs_a_live_group() -> None:
    assert "--load-topic needs --group" in usage("--load-topic", "load", problem=BUSY_SOON)
