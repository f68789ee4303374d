"""Level, trend, season and the error of the forecast."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.model import Model, Outlook
from kafka_assignors.forecast.season import Season
from kafka_assignors.forecast.settings import QUARTER, SECOND

HOURS = 3600
DAYS = 24 * HOURS
MONDAY = 1_384_128_000  # s; 2013-11-11 00:00:00 UTC


def taught(
    rate: Callable[[float], float], span_s: float, *, step_s: float = 300, horizon_s: float = HOURS
) -> tuple[Model, int]:
    """A model that has seen records arrive at a rate (of seconds after Monday 0:00), and when it is."""
    settings = LoadSettings(step_s=step_s, horizon_s=horizon_s)
    model, end = Model(settings), MONDAY * SECOND
    carried = 0.0
    for n in range(int(span_s / step_s)):
        carried += rate(n * step_s) * step_s
        arrived = math.floor(carried)
        carried -= arrived
        end += settings.step
        model.learn(end, arrived)
    return model, end


def looking(model: Model, at: int) -> Outlook:
    outlook = model.outlook(at)
    assert outlook is not None
    return outlook


def test_nothing_is_expected_before_anything_was_seen() -> None:
    assert Model(LoadSettings()).outlook(MONDAY * SECOND) is None


def test_a_steady_rate_is_expected_to_go_on() -> None:
    outlook = looking(*taught(lambda _: 2.0, 3 * HOURS))
    assert outlook.arrivals == pytest.approx(7200)
    assert outlook.level == pytest.approx(2)
    assert outlook.error == pytest.approx(0, abs=1)


def test_the_error_is_not_told_before_it_is_known() -> None:
    """A forecast is scored once its hour is over, so not in the first one."""
    assert looking(*taught(lambda _: 2.0, HOURS)).error is None
    assert looking(*taught(lambda _: 2.0, 2 * HOURS)).error is not None


def test_the_error_is_as_large_as_what_chance_does() -> None:
    """3,600 records an hour by pure chance: their number varies by 60, a forecast of them more."""
    chance = random.Random(3)
    settings = LoadSettings(step_s=300, horizon_s=HOURS)
    model, at = Model(settings), MONDAY * SECOND
    for _ in range(12 * 24 * 3):
        at += settings.step
        model.learn(at, round(chance.gauss(300, math.sqrt(300))))
    error = looking(model, at).error
    assert error is not None
    assert 50 < error < 100


def test_a_ramp_goes_on_for_a_while() -> None:
    """The trend counts, but damped: less than if it went on for the whole horizon."""
    model, at = taught(lambda t: t / HOURS, 8 * HOURS)
    outlook = looking(model, at)
    assert outlook.trend > 0
    assert 8 * 3600 < outlook.arrivals < 8.5 * 3600 * 1.05


def by_day(t: float) -> float:
    return 10 + 8 * math.sin(2 * math.pi * t / DAYS)


def test_a_day_is_known_after_the_first() -> None:
    """On the second day, at the steepest time, what comes is known far better than from what came."""
    model, at = taught(by_day, DAYS + 22 * HOURS, horizon_s=4 * HOURS)
    now = DAYS + 22 * HOURS
    truth = sum(by_day(now + t) for t in range(0, 4 * HOURS, 60)) * 60
    naive = sum(by_day(now - t) for t in range(0, 4 * HOURS, 60)) * 60
    assert abs(looking(model, at).arrivals - truth) < 0.4 * abs(naive - truth)


def test_before_a_whole_day_was_seen_it_is_no_worse_than_plain_smoothing() -> None:
    model, at = taught(by_day, 9 * HOURS)
    truth = sum(by_day(9 * HOURS + t) for t in range(0, HOURS, 60)) * 60
    naive = sum(by_day(9 * HOURS - t) for t in range(0, HOURS, 60)) * 60
    assert abs(looking(model, at).arrivals - truth) < abs(naive - truth)


def test_a_weekend_is_known_after_the_second() -> None:
    """On Saturdays and Sundays nothing arrives; on the third Friday at midnight, little is expected."""

    def weekdays(t: float) -> float:
        return 10.0 if t % (7 * DAYS) < 5 * DAYS else 0.0

    horizon = 6 * HOURS
    model, at = taught(weekdays, 19 * DAYS, horizon_s=horizon, step_s=900)  # Saturday, 0:00
    usual = 10 * horizon
    assert looking(model, at).arrivals < 0.35 * usual
    model, at = taught(weekdays, 21 * DAYS, horizon_s=horizon, step_s=900)  # Monday, 0:00
    assert looking(model, at).arrivals > 0.65 * usual


def test_what_happens_each_day_at_a_quarter_of_an_hour_is_expected_then() -> None:
    """A job writes 9,000 records at 3:10 each night; seen at 3:00 and at 4:00."""

    def nightly(t: float) -> float:
        return 31.0 if 600 <= t % DAYS - 3 * HOURS < 900 else 1.0

    before, at_three = taught(nightly, 6 * DAYS + 3 * HOURS, horizon_s=900)
    after, at_four = taught(nightly, 6 * DAYS + 4 * HOURS, horizon_s=900)
    assert 7_000 < looking(before, at_three).arrivals < 900 + 9_000
    assert looking(after, at_four).arrivals == pytest.approx(900, rel=0.05)


def test_a_new_level_is_believed_after_two_horizons() -> None:
    model, at = taught(lambda t: 10.0 if t < DAYS else 100.0, DAYS + 2 * HOURS)
    assert looking(model, at).arrivals == pytest.approx(360_000, rel=0.05)


def test_a_single_outlier_is_not_taken_for_the_level() -> None:
    """A million records at once; half an hour later, and when the last hour no longer has them."""

    def once(t: float) -> float:
        return 10.0 + (1e6 / 300 if t == DAYS else 0.0)

    usual = 36_000
    assert looking(*taught(once, DAYS + HOURS / 2)).arrivals < 0.4 * (usual + 1e6)
    assert looking(*taught(once, DAYS + 1.5 * HOURS)).arrivals < 2 * usual


def test_the_first_records_after_idle_times_are_believed() -> None:
    model, at = taught(lambda t: 0.0 if t < DAYS else 50.0, DAYS + HOURS)
    assert looking(model, at).arrivals > 0.7 * 50 * 3600


def test_it_never_expects_less_than_nothing() -> None:
    model, at = taught(lambda t: max(0.0, 50 - t / 60), 2 * HOURS)
    assert looking(model, at).arrivals >= 0


def test_after_steps_that_are_not_known_it_goes_on_with_what_it_knew() -> None:
    model, at = taught(lambda _: 2.0, 5 * HOURS)
    model.skip()
    assert looking(model, at + 3600 * SECOND).arrivals == pytest.approx(7200, rel=0.01)
    assert model.pending == []


def test_a_season_of_nothing_adds_nothing() -> None:
    assert {Season().adds(quarter) for quarter in range(700)} == {0.0}


def test_a_quarter_that_was_hardly_seen_teaches_nothing() -> None:
    season = Season()
    step = 60 * SECOND
    at = MONDAY * SECOND
    for n in range(1, 7):  # six minutes of the first quarter, then a step of the next
        season.learn(at + n * step, 9.0, step)
    season.learn(at + QUARTER + step, 1.0, step)
    assert sum(season.day_seen) == 0


def test_hours_of_the_week_begin_on_monday() -> None:
    season = Season()
    at = MONDAY * SECOND
    for day in range(8):
        season.learn(at + day * 96 * QUARTER + QUARTER, 5.0, QUARTER)
        season.learn(at + day * 96 * QUARTER + 2 * QUARTER, 5.0, QUARTER)
    # The first day is no different from itself, and the hour that is going on does not count yet.
    assert [hour for hour, seen in enumerate(season.week_seen) if seen] == [24 * day for day in range(1, 7)]
    season.learn(at + 8 * 96 * QUARTER + QUARTER, 5.0, QUARTER)
    assert season.week_seen[0] == 1
