"""The groups of the benchmark, phase by phase."""

from __future__ import annotations

import pytest

from bench.problems import GROWTH, PHASES, SIZES, Plan, Problem, select

ALL = [problem for size in SIZES.values() for problem in size]
KINDS = ("uniform", "half", "tiers")


def base_of(problem: Problem) -> Plan:
    """Everybody has one partition of its first topic."""
    return {m: {topics[0]: [0]} for m, topics in problem.at("fresh", {}).subscriptions.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_is_the_same_every_time(kind: str, phase: str) -> None:
    problem = Problem(kind, 20, 10, 20)
    assert problem.at(phase, base_of(problem)) == problem.at(phase, base_of(problem))


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_owns_anything_at_first_and_everything_stays_when_nothing_happens(kind: str) -> None:
    problem = Problem(kind, 20, 10, 20)
    fresh, stable = (problem.at(phase, base_of(problem)) for phase in ("fresh", "stable"))
    assert fresh.owned == {}
    assert stable.owned == base_of(problem)
    assert (fresh.counts, fresh.subscriptions) == (stable.counts, stable.subscriptions)


def test_subscriptions_are_what_the_kind_says() -> None:
    uniform, half, tiers = (Problem(kind, 20, 10, 20).at("fresh", {}) for kind in KINDS)
    every = list(uniform.counts)
    assert all(topics == every for topics in uniform.subscriptions.values())
    assert all(len(topics) == 10 for topics in half.subscriptions.values())
    assert len({tuple(topics) for topics in half.subscriptions.values()}) > 1
    assert [len(topics) for topics in tiers.subscriptions.values()] == [20] * 10 + [10] * 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("phase", "there", "with_history"),
    [("one joins", 31, 30), ("one leaves", 29, 29), ("10 % leave", 27, 27), ("10 % re-subscribe", 30, 30)],
)
def test_members_come_and_go(kind: str, phase: str, there: int, with_history: int) -> None:
    problem = Problem(kind, 20, 10, 30)
    moment = problem.at(phase, base_of(problem))
    assert len(moment.subscriptions) == there
    assert len(moment.owned) == with_history
    assert set(moment.owned) <= set(moment.subscriptions)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tenth_of_the_members_subscribes_to_something_else(kind: str) -> None:
    problem = Problem(kind, 20, 10, 30)
    before, after = (problem.at(phase, {}).subscriptions for phase in ("stable", "10 % re-subscribe"))
    assert sum(before[m] != after[m] for m in before) == 3


@pytest.mark.parametrize(
    ("topics", "partitions", "grown", "by"), [(20, 10, 2, 1), (5, 5, 1, 1), (30, 200, 3, 20)]
)
def test_a_tenth_of_the_topics_grows_by_a_tenth(topics: int, partitions: int, grown: int, by: int) -> None:
    problem = Problem("half", topics, partitions, 10)
    before, after = (problem.at(phase, {}).counts for phase in ("stable", "partitions added"))
    assert sorted(after[t] - before[t] for t in before) == [0] * (topics - grown) + [by] * grown


def test_an_unknown_phase_is_refused() -> None:
    with pytest.raises(ValueError, match="no phase 'two join'"):
        Problem("half", 2, 2, 2).at("two join", {})


def test_problems_are_chosen_by_size_and_by_parts_of_names() -> None:
    assert select([*SIZES, "growth"]) == (ALL, [p for problems in GROWTH.values() for p in problems])
    assert select(["small"]) == (list(SIZES["small"]), [])
    assert [p.name for p in select(["half 10,000", "small"])[0]] == [
        "uniform 100 x 10",
        "half 100 x 10",
        "tiers 100 x 10",
        "half 10,000 x 100",
    ]
    with pytest.raises(ValueError, match="no problem 'huge'"):
        select(["small", "huge"])
