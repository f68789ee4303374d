"""Level, trend, season and the error of the forecast."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.mixture import Mixture
from kafka_assignors.forecast.model import Model, Outlook
from kafka_assignors.forecast.season import WHOLE, Season, slots_of
from kafka_assignors.forecast.settings import QUARTER, SECOND
from tests.support.quick import long, quick

HOURS = 3600
DAYS = 24 * HOURS
MONDAY = 1_384_128_000  # s; 2013-11-11 00:00:00 UTC


def taught(
    rate: Callable[[float], float], span_s: float, *, step_s: float = 300, horizon_s: float = HOURS
) -> tuple[Model, int]:
    """Teach a model a rate (a function of seconds after Monday 0:00); return it and the last step's end."""
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


def test_model_without_steps_has_no_forecast() -> None:
    assert Model(LoadSettings()).outlook(MONDAY * SECOND) is None


def test_steady_rate_is_forecast_to_continue() -> None:
    outlook = looking(*taught(lambda _: 2.0, 3 * HOURS))
    assert outlook.arrivals == pytest.approx(7200)
    assert outlook.level == pytest.approx(2)
    assert outlook.error == pytest.approx(0, abs=1)


def test_error_is_unknown_before_forecasts_are_scored() -> None:
    """A forecast is scored at the end of its hour, so none is scored in the first hour."""
    assert looking(*taught(lambda _: 2.0, HOURS)).error is None
    assert looking(*taught(lambda _: 2.0, 2 * HOURS)).error is not None


def test_error_is_as_large_as_random_variation() -> None:
    """A Poisson rate of 3,600 records an hour varies by 60; a forecast of it is off by more."""
    chance = random.Random(3)
    settings = LoadSettings(step_s=300, horizon_s=HOURS)
    model, at = Model(settings), MONDAY * SECOND
    for _ in range(12 * 24 * 3):
        at += settings.step
        model.learn(at, round(chance.gauss(300, math.sqrt(300))))
    error = looking(model, at).error
    assert error is not None
    assert 50 < error < 100


def test_trend_is_damped() -> None:
    """A ramp is forecast to flatten within the horizon."""
    model, at = taught(lambda t: t / HOURS, 8 * HOURS)
    outlook = looking(model, at)
    assert outlook.trend > 0
    assert 8 * 3600 < outlook.arrivals < 8.5 * 3600 * 1.05


def by_day(t: float) -> float:
    return 10 + 8 * math.sin(2 * math.pi * t / DAYS)


def test_daily_season_is_used_from_the_second_day() -> None:
    """At the steepest time of the second day, the forecast is far better than the naive one."""
    model, at = taught(by_day, DAYS + 22 * HOURS, horizon_s=4 * HOURS)
    now = DAYS + 22 * HOURS
    truth = sum(by_day(now + t) for t in range(0, 4 * HOURS, 60)) * 60
    naive = sum(by_day(now - t) for t in range(0, 4 * HOURS, 60)) * 60
    assert abs(looking(model, at).arrivals - truth) < 0.4 * abs(naive - truth)


def test_forecast_within_the_first_day_beats_the_naive_forecast() -> None:
    model, at = taught(by_day, 9 * HOURS)
    truth = sum(by_day(9 * HOURS + t) for t in range(0, HOURS, 60)) * 60
    naive = sum(by_day(9 * HOURS - t) for t in range(0, HOURS, 60)) * 60
    assert abs(looking(model, at).arrivals - truth) < abs(naive - truth)


def test_weekends_are_known_after_the_second() -> None:
    """Nothing arrives on Saturdays and Sundays; on the third Friday at midnight the forecast is low."""

    def weekdays(t: float) -> float:
        return 10.0 if t % (7 * DAYS) < 5 * DAYS else 0.0

    horizon = 6 * HOURS
    model, at = taught(weekdays, 19 * DAYS, horizon_s=horizon, step_s=900)  # Saturday, 0:00
    usual = 10 * horizon
    assert looking(model, at).arrivals < 0.35 * usual
    model, at = taught(weekdays, 21 * DAYS, horizon_s=horizon, step_s=900)  # Monday, 0:00
    assert looking(model, at).arrivals > 0.65 * usual


def test_nightly_job_is_forecast_at_its_quarter_of_an_hour() -> None:
    """A job writes 9,000 records at 3:10 each night; the forecasts are made at 3:00 and at 4:00."""

    def nightly(t: float) -> float:
        return 31.0 if 600 <= t % DAYS - 3 * HOURS < 900 else 1.0

    before, at_three = taught(nightly, 6 * DAYS + 3 * HOURS, horizon_s=900)
    after, at_four = taught(nightly, 6 * DAYS + 4 * HOURS, horizon_s=900)
    assert looking(before, at_three).arrivals == pytest.approx(900 + 9_000, rel=0.05)
    assert looking(after, at_four).arrivals == pytest.approx(900, rel=0.05)


@pytest.mark.parametrize("step_s", [45, long(60), 300])
def test_job_is_known_by_its_minute(step_s: float) -> None:
    """A job writes 9,000 records at 3:30, for 5 minutes, within the quarter of an hour from 3:30 on."""

    def nightly(t: float) -> float:
        return 31.0 if 0 <= t % DAYS - 3.5 * HOURS < 300 else 1.0

    ends = {3.5 * HOURS - 300: 9_900, 3.5 * HOURS + 300: 900}
    if step_s == 45:  # not a whole number of steps
        ends = {3.5 * HOURS - 450: 9_900, 3.5 * HOURS + 450: 900}
    for end_s, expected in ends.items():
        model, at = taught(nightly, 9 * DAYS + end_s, step_s=step_s, horizon_s=900)
        assert looking(model, at).arrivals == pytest.approx(expected, rel=0.05)
        assert model.forecasts[-1] == pytest.approx(expected, rel=0.05)  # the usual one, scaled


@pytest.mark.parametrize(("step_s", "slots"), [(900, 1), (300, 3), (60, 15), (45, 10), (10, 15), (0.001, 15)])
def test_slots_of_a_quarter_hold_whole_steps(step_s: float, slots: int) -> None:
    assert slots_of(round(step_s * SECOND)) == slots
    assert WHOLE % slots == 0


@pytest.mark.parametrize("slots", [1, 3, 15])
def test_weights_of_the_parts_of_a_quarter_add_up(slots: int) -> None:
    """The slots have different shares; the parts end within slots, too."""
    season = Season(slots=slots)
    step, begin = 60 * SECOND, MONDAY * SECOND
    for minute in range(1, 17):
        season.learn(begin + minute * step, minute**2, step)
    for minutes in range(16):
        middle = begin + minutes * step
        weights = [
            season.weighted_seconds(*part)
            for part in ((begin, middle), (middle, begin + QUARTER))
            if part[0] < part[1]
        ]
        assert sum(weights) == pytest.approx(900, rel=1e-3)
    assert slots == 1 or season.weighted_seconds(begin, begin + 300 * SECOND) < 60


def test_new_level_is_learnt_within_two_horizons() -> None:
    model, at = taught(lambda t: 10.0 if t < DAYS else 100.0, DAYS + 2 * HOURS)
    assert looking(model, at).arrivals == pytest.approx(360_000, rel=0.05)


def timetable(t: float) -> float:
    """Another rate in each quarter of an hour of the week."""
    return random.Random(int(t % (7 * DAYS)) // 900).choice([1.0, 5.0, 40.0])


def missed(
    rate: Callable[[float], float], span_s: float, *, step_s: float = 300, horizon_s: int = HOURS
) -> float:
    """Return the error of the forecast of the next horizon, as a part of its arrivals."""
    model, at = taught(rate, span_s, step_s=step_s, horizon_s=horizon_s)
    truth = sum(rate(span_s + t) for t in range(0, horizon_s, 60)) * 60
    return abs(looking(model, at).arrivals - truth) / truth


@pytest.mark.parametrize("hour", quick(range(8, 20, 3), 8, 17))
def test_timetable_is_known_after_three_weeks(hour: int) -> None:
    assert missed(timetable, 23 * DAYS + hour * HOURS) < 0.05


@pytest.mark.parametrize("hour", quick(range(8, 20, 3), 8, 17))
def test_timetable_is_known_on_the_second_day_of_its_second_week(hour: int) -> None:
    """The errors of the first week, in which no forecast from a week ago was known, count little."""
    assert missed(timetable, 9 * DAYS + hour * HOURS, step_s=900, horizon_s=6 * HOURS) < 0.02


@pytest.mark.parametrize("hour", quick(range(8, 20, 3), 8, 17))
def test_timetable_is_scaled_after_a_change_of_level(hour: int) -> None:
    """It has tripled two days ago."""

    def tripled(t: float) -> float:
        return timetable(t) * (3 if t >= 22 * DAYS else 1)

    assert missed(tripled, 24 * DAYS + hour * HOURS) < 0.1


def test_errors_are_averaged_over_recent_and_over_lasting_scores() -> None:
    """All forecasts but the naive one are unknown on the first day; they are those of quick smoothing."""
    mixture = taught(lambda _: 2.0, 3 * HOURS)[0].mixture
    mixture.recent_misses[0], mixture.lasting_misses[0], mixture.miss_counts[0] = 10.0, 20.0, 300
    mixture._add_miss(0, 30.0, known=True)
    assert mixture.recent_misses[0] == pytest.approx(10 + 20 / 64)
    assert mixture.miss_counts[0] == 256
    assert mixture.lasting_misses[0] == pytest.approx(20 + 10 / 256)
    assert mixture.miss_counts[4:] == [24, 16, 16, 16, 16]
    mixture._add_miss(5, 30.0, known=False)
    assert mixture.miss_counts[5] == 16
    mixture._add_miss(5, 30.0, known=True)
    assert mixture.miss_counts[5] == 17


def test_half_of_both_errors_gives_1024_times_the_weight() -> None:
    mixture = Mixture()
    mixture.recent_misses, mixture.lasting_misses, mixture.miss_counts = [2.0] * 9, [6.0] * 9, [9] * 9
    mixture.recent_misses[3], mixture.lasting_misses[3] = 1.0, 3.0
    weights = mixture.weights()
    assert weights[3] == pytest.approx(1024 * weights[0])
    assert sum(weights) == pytest.approx(1)


def test_two_of_three_outcomes_are_within_the_error() -> None:
    """Most hours have few records, some have thirty times as many."""
    chance = random.Random(4)
    settings = LoadSettings(step_s=900, horizon_s=HOURS)
    model, at, total = Model(settings), MONDAY * SECOND, 0
    counts, outlooks = [0], []
    for _ in range(40 * 96):
        at += settings.step
        arrived = chance.randrange(20) * (30 if chance.random() < 0.02 else 1)
        total += arrived
        model.learn(at, arrived)
        counts.append(total)
        outlooks.append(looking(model, at))
    within = [
        abs(counts[step + 5] - counts[step + 1] - outlook.arrivals) <= outlook.error
        for step, outlook in enumerate(outlooks[:-4])
        if outlook.error is not None
    ]
    assert 0.6 < sum(within) / len(within) < 0.76


def test_single_outlier_does_not_set_the_level() -> None:
    """A million records arrive in one step; forecasts are made half an hour and 1.5 hours later."""

    def once(t: float) -> float:
        return 10.0 + (1e6 / 300 if t == DAYS else 0.0)

    usual = 36_000
    assert looking(*taught(once, DAYS + HOURS / 2)).arrivals < 0.4 * (usual + 1e6)
    assert looking(*taught(once, DAYS + 1.5 * HOURS)).arrivals < 2 * usual


def test_first_records_after_an_idle_day_set_the_level() -> None:
    model, at = taught(lambda t: 0.0 if t < DAYS else 50.0, DAYS + HOURS)
    assert looking(model, at).arrivals > 0.7 * 50 * 3600


def test_forecast_is_never_negative() -> None:
    model, at = taught(lambda t: max(0.0, 50 - t / 60), 2 * HOURS)
    assert looking(model, at).arrivals >= 0


def test_level_is_kept_over_unknown_steps() -> None:
    model, at = taught(lambda _: 2.0, 5 * HOURS)
    model.skip(1)
    assert looking(model, at + 3600 * SECOND).arrivals == pytest.approx(7200, rel=0.01)
    assert model.pending == []


def test_trend_fades_over_all_unknown_steps_at_once() -> None:
    """A day of them costs as much as one."""
    (model, at), (other, _) = (taught(lambda t: t / 600, 2 * HOURS) for _ in range(2))
    model.skip(1_440)
    for _ in range(1_440):
        other.skip(1)
    assert model.trends == pytest.approx(other.trends)
    assert abs(looking(model, at).trend) < 1e-9


def test_season_without_steps_adds_nothing() -> None:
    assert {Season().addition(quarter) for quarter in range(700)} == {0.0}


def test_quarter_of_which_less_than_half_is_known_is_not_learnt() -> None:
    season = Season()
    step = 60 * SECOND
    at = MONDAY * SECOND
    for n in range(1, 7):  # six minutes of the first quarter, then a step of the next
        season.learn(at + n * step, 540, step)
    season.learn(at + QUARTER + step, 60, step)
    assert sum(season.day_seen) == 0


def by_quarter(*weekdays: Callable[[int], int]) -> Season:
    """Teach a season the records/s of each quarter of an hour of some days, Monday first."""
    season, first = Season(), MONDAY // 900
    for day, rate in enumerate(weekdays):
        for quarter in range(96):
            season.learn((first + 96 * day + quarter + 1) * QUARTER, 900 * rate(quarter), QUARTER)
    season.learn((first + 96 * len(weekdays) + 1) * QUARTER, 0, QUARTER)
    return season


def test_typical_rate_is_spread_as_on_similar_days() -> None:
    """Wednesday has twice the records of the other working days, but none in one quarter of an hour."""
    season = by_quarter(
        *2 * [lambda quarter: quarter + 1],
        lambda quarter: 0 if quarter == 10 else 2 * quarter + 2,
        *2 * [lambda quarter: quarter + 1],
        *2 * [lambda _: 5],
    )
    next_monday, working_day = MONDAY // 900 + 7 * 96, sum(range(1, 97))
    wednesday, total = 2 * working_day - 22, 6 * working_day - 22
    typical = season.past_rates(next_monday + 2 * 96 + 10)[2]
    assert typical == pytest.approx(wednesday * (4 * 11) / total)
    assert season.past_rates(next_monday + 3 * 96 + 9)[2] == pytest.approx(working_day * (6 * 10) / total)
    assert season.past_rates(next_monday + 5 * 96 + 10)[2] == 5


def test_typical_rate_is_the_usual_one_until_all_of_a_day_is_learnt() -> None:
    late = Season()
    for quarter in range(1, 97):  # the first quarter of Monday is missing
        late.learn((MONDAY // 900 + quarter + 1) * QUARTER, 900 * quarter, QUARTER)
    assert late.past_rates(MONDAY // 900 + 7 * 96 + 20)[2:] == (20, 20)
    assert all(math.isnan(rate) for rate in late.past_rates(MONDAY // 900 + 9 * 96))


def test_typical_rate_of_days_without_records_is_0() -> None:
    assert by_quarter(lambda _: 0).past_rates(MONDAY // 900 + 7 * 96)[2] == 0


def test_hours_of_the_week_begin_on_monday() -> None:
    season = Season()
    at = MONDAY * SECOND
    for day in range(8):
        season.learn(at + day * 96 * QUARTER + QUARTER, 4500, QUARTER)
        season.learn(at + day * 96 * QUARTER + 2 * QUARTER, 4500, QUARTER)
    # The first day has no mean to compare to, and the current hour does not count yet.
    assert [hour for hour, seen in enumerate(season.week_seen) if seen] == [24 * day for day in range(1, 7)]
    season.learn(at + 8 * 96 * QUARTER + QUARTER, 4500, QUARTER)
    assert season.week_seen[0] == 1


def test_season_follows_the_clocks_of_its_zone() -> None:
    """Summer time began in Berlin on 2014-03-30: from then on the load of 8:00 UTC comes at 7:00 UTC."""
    first, monday = 1_395_014_400 // 900, 1_396_224_000 // 900  # 0:00 UTC, 2014-03-17 and 2014-03-31
    for zone, hour in (("UTC", 7), ("Europe/Berlin", 8)):
        season = Season(zone)
        for quarter in range(first, monday - 96):  # until Saturday
            season.learn((quarter + 1) * QUARTER, (quarter - first) // 4 % 24 * 900, QUARTER)
        assert season.past_rates(monday + 7 * 4)[-1] == hour
        assert (
            season.addition(monday + 7 * 4)
            == season.addition(monday - 7 * 96 + hour * 4)
            > season.addition(monday)
        )
