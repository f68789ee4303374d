"""``size --recording``: the load at the end of a recording, and wrong options."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench.lag.errors import sizes_of
from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.cli.size import recording as size_of_recording
from kafka_assignors.cli.size.load import Forecasts
from kafka_assignors.cli.size.recording import RecordingRequest, later_arrivals, load_at_end
from kafka_assignors.cli.size.report import headline
from kafka_assignors.cli.size.sizes import SizeRequest, size_report
from kafka_assignors.errors import HistoryError, MissingExtraError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.settings import QUARTER, SECOND
from kafka_assignors.pipeline.backtest.recorded import Recorded
from kafka_assignors.simulation.history import History, Levels
from kafka_assignors.simulation.sizing import Target
from tests.support.quick import long
from tests.support.simulation.assembled import assembled

REQUEST = SizeRequest("billing", Target(30, headroom=0), 3600, rate=10.0)
RECORDING = RecordingRequest("pipeline", None, None, window_s=60.0)
NAN = float("nan")

HOURS = [(1, 2, 2, 1), (3, 3, 3, 2), (4, 4, 3, 3), (8, 8, 8, 6), (12, 8, 8, 8), (16, 6, 6, 6), (18, 4, 5, 5)]
"""Hour of the day, the least size for the arrivals of the next hour, the size by forecast, and the size that
lasting arrivals would have.  By forecast 21 of all 24 hours are exact, three differ by a member."""


def recording(
    arrived: Sequence[Sequence[float]], lag: Sequence[Sequence[float]], step_s: float = 30.0
) -> Recorded:
    """Return a recording of two topics; the last topic has all partitions but the first."""
    table = np.array(arrived, np.float64)
    steps, partitions = table.shape
    place = np.tile(np.arange(partitions), steps)
    shuffled = np.random.default_rng(1).permutation(steps * partitions)
    rows = {
        "time": np.repeat(np.arange(1, steps + 1), partitions) * round(step_s * 1_000_000),
        "step_s": np.full(steps * partitions, step_s),
        "topic": np.where(place == 0, "a", "b").astype(object),
        "partition": np.maximum(place - 1, 0),
        "arrived": table.ravel(),
        "served": table.ravel(),
        "lag": np.array(lag, np.float64).ravel(),
        "forecast": np.full(steps * partitions, NAN),
        "horizon_s": np.full(steps * partitions, 3600.0),
    }
    return assembled({name: values[shuffled] for name, values in rows.items()})


def test_steps_that_are_joined_lie_in_one_quarter_of_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any minute at which the recording ends; else the season has negative weights."""
    joined = []

    def learn(arrivals: Levels, end: int, settings: LoadSettings, parts: int) -> Levels:
        assert end % settings.step == 0
        assert QUARTER % settings.step == 0
        joined.append(settings.step // (60 * SECOND))
        return np.zeros((parts, 1))

    monkeypatch.setattr(size_of_recording, "forecast_parts", learn)
    arrivals, start_lags = np.ones((100, 1), np.int64), np.zeros(1, np.int64)
    history = History("g", 60.0, {"t": 1}, arrivals, start_lags)
    for minute in range(15):
        assert later_arrivals(history, (600 + minute) * 60 * SECOND, 3600.0) is not None
    assert joined == [5, 1, 1, 3, 1, 5, 3, 1, 1, 3, 5, 1, 3, 1, 1]
    week = [later_arrivals(history, (600 + minute) * 60 * SECOND, 7 * 86_400.0) for minute in range(4)]
    assert [later is None for later in week] == [False, True, True, False], "at most 10,000 steps ahead"


def test_load_is_the_mean_of_the_last_arrivals_and_the_last_lag() -> None:
    recorded = recording([[900, 900, 900], [30, 60, 90], [90, 60, 30]], [[7, 7, 7], [5, 6, 7], [1, NAN, 3]])
    load = load_at_end(recorded, RECORDING, REQUEST)
    assert load.history.topics == {"a": 1, "b": 2}
    assert load.history.step_s == 3600
    assert (load.history.arrivals / 3600).tolist() == [[2, 2, 2]]
    assert load.history.start_lags.tolist() == [1, 6, 3]
    assert (load.history.service_rate, load.members, load.owners) == (10, None, None)


def test_what_a_recording_does_not_have_is_noted() -> None:
    recorded = recording([[30, 30], [30, 30], [30, 30]], [[1, 1], [1, NAN], [1, NAN]])
    members = replace(RECORDING, members=3)
    load = load_at_end(recorded, members, REQUEST)
    assert load.members == 3
    assert load.history.steps == 1
    assert load.forecasts is None
    assert load.notes == (
        "the lag of 1 partition is unknown and counts as none",
        "the recording is too short for forecasts: the last arrivals are assumed to continue",
    )
    ended = load_at_end(replace(recorded, ended=np.array([False, True])), members, REQUEST)
    assert ended.notes[0] == "1 partition ended long before the recording did: no load is assumed"
    assert (ended.history.arrivals[:, 1] == 0).all()
    shorter = load_at_end(recorded, members, replace(REQUEST, horizon_s=45.0))
    assert shorter.notes[1].startswith("the horizon of 45s cannot be divided into two or more parts")
    with pytest.raises(HistoryError, match="give --rate"):
        load_at_end(recorded, members, replace(REQUEST, rate=None))


def test_recording_that_is_long_enough_is_forecast_without_a_note() -> None:
    recorded = recording([[30, 30]] * 40, [[1, 1]] * 40)
    load = load_at_end(recorded, RECORDING, replace(REQUEST, horizon_s=60.0))
    assert load.forecasts == Forecasts("the load model", 2, 60)
    assert load.notes == ()
    assert (load.history.steps, load.history.step_s) == (2, 30)
    assert load.history.arrivals.tolist() == pytest.approx(np.full((2, 2), 30.0))


# --- sizes by forecasts beside the truth -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hour", "least", "by_forecast", "by_present"),
    [HOURS[1], *(long(*row) for row in HOURS if row != HOURS[1])],
)
def test_size_by_forecast_is_about_the_least_size_for_the_hour_that_came(
    hour: int, least: int, by_forecast: int, by_present: int
) -> None:
    """``python -m bench.lag.errors --sizes`` counts all hours."""
    assert sizes_of(hour) == (least, by_forecast, by_present)


# --- the report --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("members", "is_fine"), [(None, True), (1, False), (2, True)])
def test_unknown_number_of_members_is_not_wrong(members: int | None, is_fine: bool) -> None:
    recorded = recording([[210, 210], [210, 210]], [[0, 0], [0, 0]])
    load = load_at_end(recorded, replace(RECORDING, members=members), REQUEST)
    report = size_report(REQUEST, load, "sticky", "2026-11-23T12:00:00.000+00:00", recorded=True)
    assert report.is_fine == is_fine
    assert json.loads(json.dumps(report.as_json()))["advised"] == 2
    if members is None:
        assert headline(report) == "billing: 2 members for a time lag of 30s"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--recording", "missing"), "--recording: no folder 'missing'"),
        (("--recording", ".", "--bootstrap", "b:9092"), "--recording replaces"),
        (("--recording", ".", "--serve", "h:1"), "--recording replaces"),
        (("--recording", ".", "--until", "noon"), "is not like 2026-11-22"),
        (("--until", "2026-11-22"), "need --recording"),
    ],
)
def test_wrong_options_are_usage_errors(words: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli_size.command, ["billing", "--max-time-lag", "30s", *words])
    assert (result.exit_code, message in result.output) == (2, True), result.output


def test_error_names_the_extra_of_a_recording(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    words = ["billing", "--max-time-lag", "30s", "--recording", str(tmp_path)]
    result = CliRunner().invoke(cli_size.command, words)
    assert isinstance(result.exception, MissingExtraError)
    assert result.exception.extra == "spark"
