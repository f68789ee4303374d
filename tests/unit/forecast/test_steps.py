"""From samples to steps: records arrived and served, lag, and quality."""

from __future__ import annotations

import dataclasses

import pytest

from kafka_assignors.forecast import NO_COMMIT
from kafka_assignors.forecast.settings import SECOND
from tests.unit.forecast.looks import SETTINGS, look, minutes, steps_of

MINUTE = 60 * SECOND


def test_samples_at_the_ends_of_steps_are_subtracted() -> None:
    """Arrived and served are differences of two samples; the lag is that of the later one."""
    [step] = steps_of([look(0, 100, 80), look(60, 160, 110)])
    assert (step.arrived, step.served, step.lag, step.quality) == (60, 30, 50, "ok")
    assert minutes(step) == 1


def test_samples_between_the_ends_of_steps_are_interpolated() -> None:
    steps = steps_of([look(30, 100, 100), look(90, 160, 130), look(150, 160, 160)])
    # At 1:00 the end is 130 and the commit 115; at 2:00 160 and 145.
    assert [(s.arrived, s.served, s.lag) for s in steps] == [(30, 30, 15)]


def test_step_is_not_returned_before_its_end() -> None:
    assert steps_of([look(0, 100, 80), look(59, 160, 110)]) == []


def test_step_of_the_first_sample_is_not_returned() -> None:
    """Only a part of that step is known."""
    assert [minutes(step) for step in steps_of([look(30, 5), look(60, 9), look(120, 12)])] == [2]


def test_samples_further_apart_than_a_step_are_interpolated() -> None:
    steps = steps_of([look(0, 0, 0), look(180, 90, 30)])
    assert [step.arrived for step in steps] == [30, 30, 30]
    assert [step.quality for step in steps] == ["interpolated", "interpolated", "interpolated"]


def test_gap_is_one_step_without_arrivals() -> None:
    """Samples are 11 minutes apart, 10 are allowed: only the lag at the end of the gap is known."""
    steps = steps_of([look(0, 0, 0), look(60, 10, 10), look(720, 9_000, 4_000), look(780, 9_010, 4_020)])
    assert [(minutes(step), step.steps) for step in steps] == [(1, 1), (12, 11), (13, 1)]
    assert [step.arrived for step in steps] == [10, None, 10]
    assert [step.served for step in steps] == [10, None, 20]
    assert [step.quality for step in steps] == ["ok", "gap", "ok"]
    assert [step.lag for step in steps] == [0, 5_000, 4_990]


def test_gap_may_end_within_a_step() -> None:
    """The first known step begins at the next end of a step."""
    steps = steps_of([look(0, 0), look(725, 9_000), look(785, 9_060), look(840, 9_115)])
    assert [(minutes(step), step.arrived) for step in steps[-2:]] == [(13, None), (14, 60)]


def test_recreated_topic_has_unknown_arrivals_in_that_step() -> None:
    """They are neither negative nor the whole new log; the next step is known."""
    steps = steps_of([look(0, 1_000, 900), look(60, 1_010, 950), look(120, 7, 3), look(180, 9, 8)])
    assert [step.arrived for step in steps] == [10, None, 2]
    assert [step.served for step in steps] == [50, None, 5]
    assert [step.lag for step in steps] == [60, 4, 1]
    assert [step.quality for step in steps] == ["ok", "reset", "ok"]


def test_recreated_topic_that_outgrew_the_old_one_is_found_by_its_begin() -> None:
    steps = steps_of(
        [look(0, 1_000, 900, begin=500), look(60, 1_010, 950, begin=500), look(120, 5_000, 3, begin=0)]
    )
    assert [(step.arrived, step.quality) for step in steps] == [(10, "ok"), (None, "reset")]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("commit", [NO_COMMIT, 10])
def test_recreated_topic_that_outgrew_the_old_one_is_found_by_the_reset_of_the_group(
    commit: int, recorded: bool
) -> None:
    """No other sign exists; the reset may be in a sample or in a commit between two samples."""
    between = [look(100, None, NO_COMMIT, begin=None), look(119, None, commit, begin=None)]
    samples = [
        look(0, 800, 700), look(30, None, 750, begin=None), look(60, 900, 800),
        *(between if recorded else []), look(120, 5_000_000, commit), look(180, 5_000_060, 100),
    ]  # fmt: skip
    steps = steps_of(samples)
    assert [step.arrived for step in steps] == [100, None, 60]
    assert [step.quality for step in steps] == ["ok", "reset", "ok"]
    assert steps[1].lag == 5_000_000 - max(commit, 0)


@pytest.mark.parametrize(
    ("begins", "ends", "arrived"),
    [
        ((0, 0), (900, 950), None),
        ((5, 5), (900, 950), 50),
        ((5, 6), (900, 950), None),
        ((None, None), (900, 950), None),
        ((0, 0), (900, 900), 0),
    ],
)
def test_arrivals_during_a_reset_are_known_if_the_log_must_be_the_same(
    begins: tuple[int | None, int | None], ends: tuple[int, int], arrived: int | None
) -> None:
    """Its begin is unchanged and above 0, or its end has not grown."""
    before, after = (look(60 * n, ends[n], 800 - 100 * n, begin=begins[n]) for n in range(2))
    [step] = steps_of([before, after])
    assert (step.arrived, step.served, step.quality) == (arrived, None, "reset")


def test_commit_between_two_samples_may_be_beyond_the_end_of_the_first() -> None:
    """The log has grown as well, so the commit is not out of range."""
    steps = steps_of([look(0, 100, 100), look(50, None, 140, begin=None), look(70, 160, 150)])
    assert [(step.served, step.lag) for step in steps] == [(45, 6)]


def test_log_that_lost_its_last_records_has_one_step_of_unknown_arrivals() -> None:
    """After an unclean leader election the end offset decreases a little."""
    steps = steps_of([look(0, 1_000, 990), look(60, 960, 960), look(120, 970, 965)])
    assert [(step.arrived, step.quality) for step in steps] == [(None, "reset"), (10, "ok")]


def test_records_deleted_by_retention_were_not_served() -> None:
    """The log begins beyond the commit, so the group continues from the begin of the log."""
    steps = steps_of(
        [
            look(0, 1_000, 100, begin=0),
            look(60, 1_100, 100, begin=600),
            look(120, 1_200, 700, begin=600),
        ]
    )
    assert [step.served for step in steps] == [0, 100]
    assert [step.lag for step in steps] == [500, 500]


def test_reset_of_a_group_makes_served_unknown() -> None:
    """Arrivals stay known, because the begin of the log is unchanged; the lag is the new one."""
    samples = [look(0, 1_000, 900), look(60, 1_010, 200), look(120, 1_020, 260)]
    steps = steps_of(sample._replace(begin=1) for sample in samples)
    assert [step.served for step in steps] == [None, 60]
    assert [step.arrived for step in steps] == [10, 10]
    assert [step.lag for step in steps] == [810, 760]
    assert [step.quality for step in steps] == ["reset", "ok"]


def test_skipped_records_count_as_served() -> None:
    """A commit is only a position, so a skip looks like reading."""
    steps = steps_of([look(0, 1_000, 100), look(60, 1_000, 900)])
    assert [step.served for step in steps] == [800]


def test_expired_commit_is_a_reset() -> None:
    steps = steps_of([look(0, 100, 90, begin=40), look(60, 100, NO_COMMIT, begin=40)])
    assert [(step.served, step.lag, step.quality) for step in steps] == [(None, 60, "reset")]


@pytest.mark.parametrize(("reset", "lag"), [("earliest", 60), ("latest", 0)])
def test_lag_without_a_commit_counts_from_the_reset_position(reset: str, lag: int) -> None:
    settings = dataclasses.replace(SETTINGS, reset=reset)  # type: ignore[arg-type]  # one of the two
    samples = [look(0, 90, NO_COMMIT, begin=40), look(60, 100, NO_COMMIT, begin=40)]
    [step] = steps_of(samples, settings)
    assert (step.lag, step.served, step.quality) == (lag, 0, "ok")


def test_first_commit_of_a_group_makes_served_unknown() -> None:
    """The offset where the group began to read is unknown."""
    steps = steps_of([look(0, 5_000, NO_COMMIT), look(60, 5_000, 4_000), look(120, 5_000, 4_100)])
    assert [(step.served, step.lag) for step in steps] == [(None, 1_000), (100, 900)]
    assert [step.quality for step in steps] == ["ok", "ok"]


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_commit_beyond_the_end_counts_as_none(reset: str) -> None:
    settings = dataclasses.replace(SETTINGS, reset=reset)  # type: ignore[arg-type]  # one of the two
    [step] = steps_of([look(0, 90, 500, begin=40), look(60, 100, 500, begin=40)], settings)
    assert step.lag == (60 if reset == "earliest" else 0)


def test_samples_without_a_group_have_only_arrivals() -> None:
    [step] = steps_of([look(0, 10), look(60, 30)])
    assert (step.arrived, step.served, step.lag, step.time_lag) == (20, None, None, None)
    assert step.quality == "ok"


def test_commits_without_end_offsets_have_only_served_records() -> None:
    """The offsets topic has no end offsets."""
    steps = steps_of(
        [look(0, None, 10, begin=None), look(60, None, 30, begin=None), look(120, None, 35, begin=None)]
    )
    assert [(s.arrived, s.served, s.lag, s.quality) for s in steps] == [
        (None, 20, None, "unknown"),
        (None, 5, None, "unknown"),
    ]


def test_commits_between_two_samples_count_in_their_step() -> None:
    """One writer samples every two minutes, the other records each commit."""
    steps = steps_of(
        [
            look(0, 100, 50),
            look(40, None, 50, begin=None),
            look(60, None, 90, begin=None),
            look(120, 200, 90),
        ]
    )
    assert [(step.arrived, step.served, step.lag) for step in steps] == [(50, 40, 60), (50, 0, 110)]


def test_served_stays_known_while_end_offsets_are_missing() -> None:
    """Arrivals are known again after two end offsets near each other."""
    commits = [look(60 * n, None, 50 + n, begin=None) for n in range(1, 14)]
    steps = steps_of([look(0, 100, 50), *commits, look(840, 300, 70), look(900, 360, 71)])
    assert [step.quality for step in steps] == [*["unknown"] * 14, "ok"]
    assert [step.arrived for step in steps] == [*[None] * 14, 60]
    assert [step.served for step in steps] == [*[1] * 13, 7, 1]


def test_step_that_begins_between_distant_samples_is_interpolated() -> None:
    steps = steps_of([look(0, 0), look(30, 5), look(150, 65), look(180, 70), look(240, 80)])
    assert [step.quality for step in steps] == ["interpolated", "interpolated", "interpolated", "ok"]


def test_time_lag_is_the_age_of_the_oldest_unread_record() -> None:
    """Ten records arrive a minute; the group has read only those of the first minute."""
    steps = steps_of([look(60 * n, 10 * n, min(10 * n, 10)) for n in range(6)])
    assert [step.lag for step in steps] == [0, 10, 20, 30, 40]
    assert [step.time_lag for step in steps] == [0, MINUTE, 2 * MINUTE, 3 * MINUTE, 4 * MINUTE]


def test_arrival_time_is_interpolated_between_two_samples() -> None:
    steps = steps_of([look(0, 0, 0), look(60, 10, 0), look(120, 10, 5)])
    assert steps[-1].time_lag == 90 * SECOND  # offset 5 arrived half a minute after the start


def test_age_of_a_record_from_before_the_first_sample_is_unknown() -> None:
    [step] = steps_of([look(0, 1_000, 10), look(60, 1_001, 20)])
    assert (step.lag, step.time_lag) == (981, None)


def test_time_lag_is_known_after_thousands_of_steps() -> None:
    """Old points are dropped, so the time lag gets coarser."""
    steps = steps_of([look(60 * n, 10 * n, 0 if n < 3_000 else 10 * 1_500) for n in range(3_001)])
    assert steps[-2].time_lag == 2_999 * MINUTE
    assert steps[-1].time_lag == 1_500 * MINUTE  # exact, because the log grew evenly


def test_step_may_be_a_quarter_of_an_hour() -> None:
    steps = steps_of(
        [look(900 * n, n) for n in range(3)], dataclasses.replace(SETTINGS, step_s=900, max_gap_s=900)
    )
    assert [minutes(step) for step in steps] == [15, 30]
