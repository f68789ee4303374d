from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_assignors.errors import ProblemError
from kafka_assignors.simulation import History
from tests.support.simulation.histories import history


def test_topics_are_sorted_as_in_the_planner() -> None:
    made = history([1, 2, 3], topics={"b": 1, "a": 2})
    assert list(made.topics) == ["a", "b"]
    assert (made.steps, made.partitions, made.length_s, made.records) == (1, 3, 1.0, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_s": 0.0}, "history.step_s: 0.0 is not a number above 0"),
        ({"service_rate": float("inf")}, "history.service_rate: inf"),
        ({"topics": {}}, "history.topics: there is none"),
        ({"topics": {"a": 3, "b": -1}}, "history.topics: 'b' has a negative number"),
        ({"arrivals": np.array([1, 2])}, r"history.arrivals: expected \(steps, 2 partitions\)"),
        ({"arrivals": np.zeros((0, 2), np.int64)}, r"at least one step, got \(0, 2\)"),
        ({"arrivals": np.array([[1, 2, 3]])}, r"got \(1, 3\)"),
        ({"arrivals": np.array([[1, -2]])}, "history.arrivals: a number of records is negative"),
        ({"arrivals": np.array([[1.5, 2]])}, "history.arrivals: expected whole numbers, got float64"),
        ({"arrivals": np.array([[2**52, 1]])}, "history.arrivals: more than"),
        ({"arrivals": np.array([[2**63, 1]], np.uint64)}, "history.arrivals: more than .* records in all"),
        ({"start_lags": np.array([2**63, 1], np.uint64)}, "history.start_lags: more than .* records in all"),
        ({"start_lags": np.array([1])}, r"history.start_lags: expected \(2 partitions,\), got \(1,\)"),
        ({"pace": np.array([1.0, 1.0])}, r"history.pace: expected \(1 steps,\), got \(2,\)"),
        ({"pace": np.array([0.0])}, "history.pace: a value is not a number above 0"),
        ({"expected": np.array([[1.0]]), "horizon_s": 60.0}, r"history.expected: expected \(1, 2\)"),
        ({"expected": np.array([[1.0, -1]]), "horizon_s": 60.0}, "history.expected: a forecast is negative"),
        ({"expected": np.array([[1.0, 1]])}, "history.horizon_s: missing"),
        ({"expected": np.array([[1.0, 1]]), "horizon_s": -1.0}, "history.horizon_s: -1.0 is not"),
    ],
)
def test_error_names_the_invalid_field(change: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {
        "group": "g",
        "step_s": 1.0,
        "topics": {"a": 2},
        "arrivals": np.array([[1, 2]]),
        "start_lags": np.array([0, 0]),
    }
    History(**fields)
    with pytest.raises(ProblemError, match=message):
        History(**{**fields, **change})


def test_forecast_is_known_after_its_delay_and_ages_until_its_horizon_is_over() -> None:
    plain = history([1, 1], [2, 2], [3, 3])
    assert plain.forecast_at(2, 0) is None
    expected = np.array([[10.0, np.nan], [20, 20], [30, 30]])
    made = replace(plain, step_s=10.0, expected=expected, horizon_s=60.0)

    def known(now: float, delay_s: float) -> tuple[int, float, float] | None:
        forecast = made.forecast_at(now, delay_s)
        return forecast and (forecast.step, float(forecast.arrivals[0]), round(60 * forecast.left, 6))

    assert [known(now, 0) for now in (0, 9.9, 10, 19, 20)] == [
        None, None, (0, 10.0, 60.0), (0, 10.0, 51.0), (1, 20.0, 60.0)
    ]  # fmt: skip
    assert [known(now, 13) for now in (22.9, 23, 33)] == [None, (0, 10.0, 47.0), (1, 20.0, 47.0)]
    # After the history the last forecast ages.
    assert [known(now, 13) for now in (43, 89, 90, 500)] == [(2, 30.0, 47.0), (2, 30.0, 1.0), None, None]
    assert known(200, 60) is None, "published after its horizon"


def test_scaled_and_cut_histories_keep_all_fields_consistent() -> None:
    made = History(
        "g",
        60.0,
        {"t": 1},
        np.array([[1], [2], [3]]),
        np.array([5]),
        service_rate=7.0,
        pace=np.array([1.0, 0.5, 2.0]),
        expected=np.array([[1.0], [2.0], [3.0]]),
        horizon_s=60.0,
        starts_at=1000.0,
    )
    twice = made.scaled(2)
    assert (twice.arrivals.tolist(), twice.start_lags.tolist()) == ([[2], [4], [6]], [10])
    assert twice.expected is not None
    assert twice.expected.tolist() == [[2.0], [4.0], [6.0]]
    assert [made.pace_at(step) for step in range(4)] == [1.0, 0.5, 2.0, 1.0]
    with pytest.raises(ProblemError, match=r"history\.scaled: 0 is not"):
        made.scaled(0)
    for factor in (4e18, 1e308):
        with pytest.raises(ProblemError, match=r"history\.arrivals: more than 4,503,599,627,370,496 records"):
            made.scaled(factor)


@pytest.mark.parametrize("factor", [0.1, 0.4, 0.5, 1.4, 1.5, 3])
def test_scaled_history_of_few_records_has_the_scaled_sum(factor: float) -> None:
    """Rounded for itself, a step with one record would have none at 0.5, and still one at 1.4."""
    arrivals = np.random.default_rng(1).poisson(0.6, (600, 5))
    made = History("g", 1.0, {"t": 5}, arrivals, np.zeros(5, np.int64))
    scaled = made.scaled(factor).arrivals
    assert scaled.dtype == np.int64
    assert scaled.min() >= 0
    assert np.abs(scaled.sum(axis=0) - arrivals.sum(axis=0) * factor).max() <= 0.5


def test_history_can_be_pickled() -> None:
    made = history([1, 2], [3, 4], start=[5, 6])
    again = pickle.loads(pickle.dumps(made))  # noqa: S301  # our own bytes
    assert again.arrivals.tolist() == made.arrivals.tolist()
    assert (again.topics, again.service_rate, again.records) == (made.topics, made.service_rate, 21)
