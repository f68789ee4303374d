"""The flights as samples of a topic, and how well the load model forecasts them."""

from __future__ import annotations

import numpy as np
import pytest

from demo.data.events import Flight, find_archive, read_flights
from demo.data.flight_samples import FlightSamples, partition_of, sample_flights
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.scoring import Score
from tests.support.examples import ROOT
from tests.support.forecast.scores import scored

STEP_S, HORIZON_S = 900, 3600
WEEKS = 3
MIDNIGHT = 1_356_998_400  # s; 2013-01-01 UTC


def flights_at(*times: int, key: bytes = b"ORD") -> list[Flight]:
    return [Flight(MIDNIGHT + time, key, b"{}") for time in times]


@pytest.fixture(scope="module")
def year() -> list[Flight]:
    return read_flights(find_archive())


def test_sample_has_the_records_due_before_it() -> None:
    samples = sample_flights(flights_at(100, 200, 300, 700), 1, every_s=300, days=1 / 96)
    assert samples.times.tolist() == [MIDNIGHT + time for time in (0, 300, 600, 900)]
    assert samples.ends[:, 0].tolist() == [0, 2, 3, 4]  # one that is due at a look is seen by the next


def test_a_group_reads_at_a_steady_rate_while_there_is_something() -> None:
    samples = sample_flights(flights_at(*range(10)), 1, every_s=60, days=600 / 86_400, service_rate=2 / 60)
    assert samples.committed[:, 0].tolist() == [0, 2, 4, 6, 8, 10, 10, 10, 10, 10, 10]


def test_a_flight_is_in_the_partition_a_producer_would_choose() -> None:
    samples = sample_flights(flights_at(1, 2, 3, key=b"LAX"), 18, days=1)
    assert np.flatnonzero(samples.ends[-1]).tolist() == [partition_of(b"LAX", 18)]


def test_the_year_is_all_there_and_its_group_keeps_up(year: list[Flight]) -> None:
    """But not at once: there is lag in rush hours, and none at night."""
    samples = sample_flights(year, 18, every_s=900)
    assert samples.ends[-1].sum() == len(year)
    assert (np.diff(samples.ends, axis=0) >= 0).all()
    assert (np.diff(samples.committed, axis=0) >= 0).all()
    lag = samples.ends - samples.committed
    assert lag.min() == 0
    assert lag.max() > 20
    assert (lag.sum(axis=1) == 0).any()


# --- how far forecasts are off -----------------------------------------------------------------------------


def published(which: str) -> dict[int, list[float]]:
    """Of a row in docs/benchmarks.md: horizon, s -> errors beside naive and best, and coverage."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = page[page.index("| | horizon | error / naive |") :].partition("\n\n")[0]
    found, history = {}, ""
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        history = cells[0] or history
        if history.startswith(which):
            number, unit = cells[1].split()
            found[int(number) * {"min": 60, "h": 3600}[unit]] = [float(cell) for cell in cells[2:]]
    return found


def assert_as_published(found: Score, figures: list[float]) -> None:
    """Neither worse nor better by more than 2 %, or than figures are rounded: else the page is wrong."""
    errors = [found.mase, found.beside_best, found.coverage]
    assert errors == [pytest.approx(figure, rel=0.02, abs=0.005) for figure in figures]


@pytest.mark.long
def test_forecasts_are_as_far_off_as_the_page_says(year: list[Flight]) -> None:
    """Three weeks of the busiest partitions, in steps of a quarter of an hour; the same figures anywhere."""
    samples = sample_flights(year, 18, every_s=900, days=21)
    busiest = np.argsort(-samples.ends[-1])[:4]
    some = FlightSamples(samples.times, samples.ends[:, busiest], samples.committed[:, busiest])
    horizons = published("3 weeks, the 4 busiest partitions")
    assert horizons.keys() == {900, 3600, 21_600}
    for horizon_s, figures in horizons.items():
        result = scored(some, LoadSettings(step_s=900, horizon_s=horizon_s))
        assert result.forecasts > 4 * 1_900
        assert_as_published(result, figures)
        assert result.rmse < 0.5 * result.naive_rmse


@pytest.mark.long
def test_forecasts_of_the_demo_are_as_far_off_as_the_page_says(year: list[Flight]) -> None:
    """All partitions, looked at as the demo does."""
    samples = sample_flights(year, 18, every_s=STEP_S, days=7 * WEEKS)
    [(horizon_s, figures)] = published("3 weeks, all partitions").items()
    assert horizon_s == HORIZON_S
    assert_as_published(scored(samples, LoadSettings(step_s=STEP_S, horizon_s=HORIZON_S)), figures)
