from __future__ import annotations

import math
import re
from random import Random
from typing import Any

import pytest

from kafka_assignors.errors import ProblemError
from kafka_assignors.simulation import Outcome, recommend
from kafka_assignors.simulation.outcome import GOALS
from tests.support.examples import ROOT


def outcome(strategy: str, history: str = "h", **figures: Any) -> Outcome:
    """Make an outcome with good figures, except the given ones."""
    values: dict[str, Any] = {
        "group": "g",
        "history": history,
        "strategy": strategy,
        "parameters": {},
        "members": 3,
        "churn": "",
        "service_rate": 10.0,
        "arrived": 100,
        "served": 100.0,
        "left": 0.0,
        "drain_s": 10.0,
        "recovery_s": 20.0,
        "largest_lag": 300.0,
        "mean_lag": 100.0,
        "largest_member_lag": 200.0,
        "time_lag_p50": 1.0,
        "time_lag_p99": 30.0,
        "time_lag_max": 40.0,
        "moved": 10,
        "r_score": 1.0,
        "r_score_mean": 0.5,
        "rebalances": 2,
        "pause_s": 5.0,
        "unserved_s": 6.0,
        "simulated_s": 500.0,
    }
    return Outcome(**{**values, **figures})


def places(*outcomes: Outcome) -> list[tuple[int, str]]:
    return [(ranked.place, str(ranked)) for ranked in recommend(outcomes).ranking]


def test_time_lag_decides_before_lag_and_lag_before_moves() -> None:
    assert places(
        outcome("a", time_lag_p99=60.0, largest_member_lag=1.0, moved=0),
        outcome("b", moved=99),
        outcome("c", largest_member_lag=400.0, moved=0),
    ) == [(1, "b"), (2, "c"), (3, "a")]


def test_strategy_that_never_drains_is_last_despite_other_figures() -> None:
    recommendation = recommend([outcome("a", drain_s=None, recovery_s=None, time_lag_p99=0.0), outcome("b")])
    assert [ranked.strategy for ranked in recommendation.ranking] == ["b", "a"]
    assert recommendation.ranking[1].reasons == ("100% of situations never drained, 0% for b",)


def test_differences_within_the_error_of_a_simulation_do_not_count() -> None:
    recommendation = recommend(
        [outcome("b", time_lag_p99=31.0), outcome("a", moved=11), outcome("c", drain_s=10.5)]
    )
    assert [(ranked.place, ranked.strategy) for ranked in recommendation.ranking] == [
        (1, "a"),
        (1, "b"),
        (1, "c"),
    ]
    assert recommendation.ranking[0].reasons == ("no real difference from b, c",)
    assert "the strategies do not really differ here" in recommendation.notes


def test_reasons_have_the_deciding_figure_and_the_costs() -> None:
    recommendation = recommend([outcome("a", moved=40), outcome("b", time_lag_p99=90.0)])
    assert recommendation.ranking[0].reasons == (
        "time lag (p99) 30.0 s, 90.0 s for b",
        "but 40 partitions moved, 10 for b",
    )
    assert recommendation.ranking[1].reasons == ("time lag (p99) 90.0 s, 30.0 s for a",)


def test_reasons_compare_to_the_best_and_mention_a_close_strategy_above() -> None:
    """B equals a in time lag and has more lag; c is worse than a, but hardly worse than b."""
    recommendation = recommend(
        [
            outcome("a", time_lag_p99=30.0, mean_lag=100.0),
            outcome("b", time_lag_p99=35.0, mean_lag=200.0),
            outcome("c", time_lag_p99=36.0, mean_lag=50.0),
        ]
    )
    assert [ranked.reasons for ranked in recommendation.ranking] == [
        ("mean lag 100 records, 200 for b",),
        (
            "mean lag 200 records, 100 for a",
            "time lag (p99) 35.0 s, 36.0 s for c: on average less than 15% apart, "
            "but c is further behind a (30.0 s)",
        ),
        (
            "time lag (p99) 36.0 s, 30.0 s for a "
            "(on average less than 15% from b in the place above, which has 35.0 s)",
        ),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_every_place_but_the_first_has_a_reason(seed: int) -> None:
    """The reason names a difference beyond the error of a simulation."""
    rng = Random(seed)
    outcomes = [
        outcome(
            name,
            time_lag_p99=30 * rng.uniform(1, 1.5),
            recovery_s=20 * rng.uniform(1, 1.5),
            mean_lag=100 * rng.uniform(1, 1.5),
            moved=rng.randint(8, 14),
        )
        for name in "abcdef"
    ]
    ranking = recommend(outcomes).ranking
    for ranked in ranking:
        if ranked.place > 1:
            figure, other = map(float, re.findall(r"[\d.]+", ranked.reasons[0].replace("(p99)", ""))[:2])
            assert figure - other > 0.14 * figure  # less than 0.15, because figures are rounded
        assert ranked.reasons


def test_time_of_what_never_happened_is_unknown() -> None:
    """Each strategy drains one of two situations, so the time decides; b was simulated for longer."""
    recommendation = recommend(
        [
            outcome("a", "h1", drain_s=None),
            outcome("a", "h2"),
            outcome("b", "h1"),
            outcome("b", "h2", drain_s=None, simulated_s=5_000.0),
        ]
    )
    assert recommendation.ranking[0].reasons[0] == (
        "drained in 10.0 s, unknown time for b in h2 (better in 1 of 2 situations, worse in 1)"
    )


def test_two_outcomes_of_one_strategy_and_situation_are_refused() -> None:
    """They may differ in pauses, and only the later one would count."""
    with pytest.raises(ProblemError, match=r"outcomes: two of a for history 'h'.*in the history's name"):
        recommend([outcome("a"), outcome("b"), outcome("a", moved=99)])


def test_situation_with_large_figures_does_not_hide_one_with_small_figures() -> None:
    """The example of docs/explanation/simulation.md: by arithmetic means a move would decide."""
    page = (ROOT / "docs" / "explanation" / "simulation.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| ([\d,]+) s, (\d) moves? \| ([\d,]+) s, (\d) moves? \|$", page, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["batch", "checkout"]
    outcomes = [
        outcome(strategy, group, time_lag_p99=float(lag.replace(",", "")), moved=int(moved))
        for group, *figures in rows
        for strategy, lag, moved in (("range", *figures[:2]), ("cooperative-lag-aware", *figures[2:]))
    ]
    first, second = recommend(outcomes).ranking
    assert (first.place, first.strategy) == (1, "cooperative-lag-aware")
    assert (second.place, second.strategy) == (2, "range")
    assert f"\n> {first.reasons[0]}\n" in page
    assert first.reasons[1:] == ("but 2 partitions moved, 1 for range in batch (worse in 2 of 2 situations)",)
    assert second.reasons == (
        "time lag (p99) 300.0 s, 2.0 s for cooperative-lag-aware in checkout (worse in 1 of 2 situations)",
    )
    batch, checkout = (
        [tried for tried in outcomes if tried.history == name] for name in ("batch", "checkout")
    )
    assert recommend(batch).ranking[0].strategy == "range"
    assert recommend(checkout).ranking[0].strategy == "cooperative-lag-aware"
    ratios = [math.exp(GOALS[1].level(one) - GOALS[1].level(other)) for one, other in (batch, checkout)]
    assert f"checkout one is {ratios[1]:.1f} times" in " ".join(page.split())
    assert f"1 and {ratios[1]:.1f} is {math.prod(ratios) ** 0.5:.1f}" in " ".join(page.split())


@pytest.mark.parametrize("times", [1.0, 1000.0])
def test_opposite_differences_of_equal_ratio_cancel_out(times: float) -> None:
    """The amount of lag in either situation does not matter."""
    outcomes = [
        outcome("a", "h1", mean_lag=4000.0),
        outcome("a", "h2", mean_lag=16000.0 * times),
        outcome("b", "h1", mean_lag=8000.0),
        outcome("b", "h2", mean_lag=8000.0 * times),
    ]
    assert places(*outcomes) == [(1, "a"), (1, "b")]
    assert places(*outcomes, outcome("a", "h3"), outcome("b", "h3", mean_lag=500.0)) == [(1, "a"), (2, "b")]


def test_small_differences_in_many_situations_do_not_add_up() -> None:
    outcomes = [outcome("a", f"h{n}", time_lag_p99=0.0, recovery_s=0.0) for n in range(50)]
    outcomes += [outcome("b", f"h{n}", time_lag_p99=0.49, recovery_s=0.98) for n in range(50)]
    assert places(*outcomes) == [(1, "a"), (1, "b")]


def test_situation_is_named_by_its_differences_from_others() -> None:
    recommendation = recommend(
        [
            outcome("a", members=3, churn="join@5"),
            outcome("a", members=4, churn="join@5"),
            outcome("b", members=3, churn="join@5", time_lag_p99=60.0),
            outcome("b", members=4, churn="join@5", time_lag_p99=90.0),
        ]
    )
    assert recommendation.ranking[1].reasons == (
        "time lag (p99) 90.0 s, 30.0 s for a in h, 4 members (worse in 2 of 2 situations)",
    )


def test_only_situations_common_to_all_strategies_count() -> None:
    recommendation = recommend(
        [
            outcome("a", "h1", time_lag_p99=10.0),
            outcome("a", "h2", time_lag_p99=90.0),
            outcome("b", "h1", time_lag_p99=40.0),
            outcome("b", "h2", time_lag_p99=40.0),
            outcome("b", "h3", time_lag_p99=9000.0),
        ]
    )
    assert [ranked.strategy for ranked in recommendation.ranking] == ["a", "b"]
    assert recommendation.ranking[0].reasons == (
        "time lag (p99) 10.0 s, 40.0 s for b in h1 (better in 1 of 2 situations, worse in 1)",
    )
    assert recommendation.scenarios == 2
    assert recommendation.notes == ("1 of 3 situations do not count: not tried with every strategy",)


def test_strategies_with_other_parameters_are_ranked_separately() -> None:
    assert places(
        outcome("a", parameters={"x": 2}, time_lag_p99=90.0), outcome("a", parameters={"x": 1})
    ) == [(1, "a (x=1)"), (2, "a (x=2)")]


@pytest.mark.parametrize("seed", range(5))
def test_order_of_outcomes_does_not_matter(seed: int) -> None:
    """Equality within a tolerance is not transitive, so tiers could depend on the order."""
    rng = Random(seed)
    outcomes = [outcome(name, time_lag_p99=30 * 1.1**n) for n, name in enumerate("dbaecf")]
    expected = places(*outcomes)
    rng.shuffle(outcomes)
    assert places(*outcomes) == expected
    assert len({place for place, _ in expected}) > 1


def test_outcomes_without_a_common_situation_are_refused() -> None:
    with pytest.raises(ProblemError, match="there is none"):
        recommend([])
    with pytest.raises(ProblemError, match="no situation that all"):
        recommend([outcome("a", "h1"), outcome("b", "h2")])
