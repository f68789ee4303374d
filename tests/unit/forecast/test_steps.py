"""From samples to steps: what arrived, what was served, what was left, and how well that is known."""

from __future__ import annotations

import dataclasses

import pytest

from kafka_assignors.forecast import NO_COMMIT
from kafka_assignors.forecast.settings import SECOND
from kafka_assignors.forecast.steps import MOST_EMPTY
from tests.unit.forecast.looks import SETTINGS, look, minutes, steps_of

MINUTE = 60 * SECOND


def test_looks_at_the_ends_of_steps_are_subtracted() -> None:
    """What arrived and was served is the difference of two looks, the lag what is left at the later one."""
    [step] = steps_of([look(0, 100, 80), look(60, 160, 110)])
    assert (step.arrived, step.served, step.lag, step.quality) == (60, 30, 50, "ok")
    assert minutes(step) == 1


def test_looks_between_the_ends_of_steps_are_joined_by_lines() -> None:
    steps = steps_of([look(30, 100, 100), look(90, 160, 130), look(150, 160, 160)])
    # At 1:00 the end is 130 and the commit 115; at 2:00 160 and 145.
    assert [(s.arrived, s.served, s.lag) for s in steps] == [(30, 30, 15)]


def test_no_step_is_given_before_it_is_over() -> None:
    assert steps_of([look(0, 100, 80), look(59, 160, 110)]) == []


def test_a_first_step_is_not_given_from_half_of_it() -> None:
    """Of the step in which the first look was, too little is known."""
    assert [minutes(step) for step in steps_of([look(30, 5), look(60, 9), look(120, 12)])] == [2]


def test_looks_further_apart_than_a_step_are_interpolated() -> None:
    steps = steps_of([look(0, 0, 0), look(180, 90, 30)])
    assert [step.arrived for step in steps] == [30, 30, 30]
    assert [step.quality for step in steps] == ["interpolated", "interpolated", "interpolated"]


def test_a_gap_is_empty_steps_and_no_arrivals() -> None:
    """Looks 11 minutes apart, 10 allowed: nothing is known of the steps between, but the lag after them."""
    steps = steps_of([look(0, 0, 0), look(60, 10, 10), look(720, 9_000, 4_000), look(780, 9_010, 4_020)])
    assert [minutes(step) for step in steps] == [*range(1, 14)]
    assert [step.arrived for step in steps] == [10, *[None] * 11, 10]
    assert [step.served for step in steps] == [10, *[None] * 11, 20]
    assert [step.quality for step in steps] == ["ok", *["gap"] * 11, "ok"]
    assert [step.lag for step in steps] == [0, *[None] * 10, 5_000, 4_990]


def test_a_gap_may_end_between_two_steps() -> None:
    """The first step after it that is known as a whole begins at the next end of a step."""
    steps = steps_of([look(0, 0), look(725, 9_000), look(785, 9_060), look(840, 9_115)])
    assert [(minutes(step), step.arrived) for step in steps[-2:]] == [(13, None), (14, 60)]


def test_a_long_gap_leaves_a_bounded_number_of_rows() -> None:
    year = 365 * 86_400
    steps = steps_of([look(0, 0), look(60, 1), look(year, 5), look(year + 60, 6)])
    assert len(steps) == 1 + MOST_EMPTY + 1
    assert [step.quality for step in steps] == ["ok", *["gap"] * MOST_EMPTY, "ok"]
    assert minutes(steps[-2]) == year / 60


def test_a_topic_that_was_created_again_has_no_arrivals_in_that_step() -> None:
    """Neither a negative number, nor all of the new log at once; then it goes on."""
    steps = steps_of([look(0, 1_000, 900), look(60, 1_010, 950), look(120, 7, 3), look(180, 9, 8)])
    assert [step.arrived for step in steps] == [10, None, 2]
    assert [step.served for step in steps] == [50, None, 5]
    assert [step.lag for step in steps] == [60, 4, 1]
    assert [step.quality for step in steps] == ["ok", "reset", "ok"]


def test_a_topic_that_was_created_again_and_grew_beyond_is_known_by_its_begin() -> None:
    steps = steps_of(
        [look(0, 1_000, 900, begin=500), look(60, 1_010, 950, begin=500), look(120, 5_000, 3, begin=0)]
    )
    assert [(step.arrived, step.quality) for step in steps] == [(10, "ok"), (None, "reset")]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("commit", [NO_COMMIT, 10])
def test_a_topic_that_was_created_again_and_grew_beyond_is_known_by_the_group_that_began_anew(
    commit: int, recorded: bool
) -> None:
    """Nothing else tells it from one that went on; also when it was told of the group between two looks."""
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
def test_what_arrived_while_a_group_was_set_back_is_known_if_it_can_only_be_the_same_log(
    begins: tuple[int | None, int | None], ends: tuple[int, int], arrived: int | None
) -> None:
    """It begins where it did, beyond 0; or it has not grown."""
    before, after = (look(60 * n, ends[n], 800 - 100 * n, begin=begins[n]) for n in range(2))
    [step] = steps_of([before, after])
    assert (step.arrived, step.served, step.quality) == (arrived, None, "reset")


def test_a_commit_between_two_looks_may_be_beyond_the_end_of_the_first() -> None:
    """The log has grown, too: that is no commit out of range, and not all of the log is left to read."""
    steps = steps_of([look(0, 100, 100), look(50, None, 140, begin=None), look(70, 160, 150)])
    assert [(step.served, step.lag) for step in steps] == [(45, 6)]


def test_a_log_that_lost_its_last_records_counts_on_from_there() -> None:
    """An unclean election: the end goes back a little, with it the meaning of what arrived."""
    steps = steps_of([look(0, 1_000, 990), look(60, 960, 960), look(120, 970, 965)])
    assert [(step.arrived, step.quality) for step in steps] == [(None, "reset"), (10, "ok")]


def test_records_that_retention_took_were_not_served() -> None:
    """The log begins beyond the commit: the group goes on from there, and only that way counts."""
    steps = steps_of(
        [
            look(0, 1_000, 100, begin=0),
            look(60, 1_100, 100, begin=600),
            look(120, 1_200, 700, begin=600),
        ]
    )
    assert [step.served for step in steps] == [0, 100]
    assert [step.lag for step in steps] == [500, 500]


def test_a_group_that_is_set_back_has_no_number_for_what_it_served() -> None:
    """Arrivals go on being known in a log that begins where it did; the lag is the new one."""
    looks = [look(0, 1_000, 900), look(60, 1_010, 200), look(120, 1_020, 260)]
    steps = steps_of(sample._replace(begin=1) for sample in looks)
    assert [step.served for step in steps] == [None, 60]
    assert [step.arrived for step in steps] == [10, 10]
    assert [step.lag for step in steps] == [810, 760]
    assert [step.quality for step in steps] == ["reset", "ok"]


def test_a_group_that_is_set_forward_has_served_what_it_skipped() -> None:
    """A commit says no more than how far: a skip looks like reading."""
    steps = steps_of([look(0, 1_000, 100), look(60, 1_000, 900)])
    assert [step.served for step in steps] == [800]


def test_a_commit_that_expired_is_a_reset() -> None:
    steps = steps_of([look(0, 100, 90, begin=40), look(60, 100, NO_COMMIT, begin=40)])
    assert [(step.served, step.lag, step.quality) for step in steps] == [(None, 60, "reset")]


@pytest.mark.parametrize(("reset", "lag"), [("earliest", 60), ("latest", 0)])
def test_without_a_commit_the_lag_is_where_the_group_would_start(reset: str, lag: int) -> None:
    settings = dataclasses.replace(SETTINGS, reset=reset)  # type: ignore[arg-type]  # one of the two
    looks = [look(0, 90, NO_COMMIT, begin=40), look(60, 100, NO_COMMIT, begin=40)]
    [step] = steps_of(looks, settings)
    assert (step.lag, step.served, step.quality) == (lag, 0, "ok")


def test_the_first_commit_of_a_group_is_no_service() -> None:
    """Where it began to read is not known."""
    steps = steps_of([look(0, 5_000, NO_COMMIT), look(60, 5_000, 4_000), look(120, 5_000, 4_100)])
    assert [(step.served, step.lag) for step in steps] == [(None, 1_000), (100, 900)]
    assert [step.quality for step in steps] == ["ok", "ok"]


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_commit_beyond_the_end_is_as_good_as_none(reset: str) -> None:
    settings = dataclasses.replace(SETTINGS, reset=reset)  # type: ignore[arg-type]  # one of the two
    [step] = steps_of([look(0, 90, 500, begin=40), look(60, 100, 500, begin=40)], settings)
    assert step.lag == (60 if reset == "earliest" else 0)


def test_without_a_group_there_are_arrivals_alone() -> None:
    [step] = steps_of([look(0, 10), look(60, 30)])
    assert (step.arrived, step.served, step.lag, step.time_lag) == (20, None, None, None)
    assert step.quality == "ok"


def test_commits_alone_tell_what_was_served() -> None:
    """As read from the topic of offsets: nobody knows where the log ends."""
    steps = steps_of(
        [look(0, None, 10, begin=None), look(60, None, 30, begin=None), look(120, None, 35, begin=None)]
    )
    assert [(s.arrived, s.served, s.lag, s.quality) for s in steps] == [
        (None, 20, None, "unknown"),
        (None, 5, None, "unknown"),
    ]


def test_commits_between_two_looks_count_where_they_were_made() -> None:
    """Two writers: one looks every two minutes, one hears of each commit."""
    steps = steps_of(
        [
            look(0, 100, 50),
            look(40, None, 50, begin=None),
            look(60, None, 90, begin=None),
            look(120, 200, 90),
        ]
    )
    assert [(step.arrived, step.served, step.lag) for step in steps] == [(50, 40, 60), (50, 0, 110)]


def test_ends_that_are_not_seen_for_long_leave_commits_alone_to_tell() -> None:
    """What was served stays known, and arrivals are again once two looks are near each other."""
    commits = [look(60 * n, None, 50 + n, begin=None) for n in range(1, 14)]
    steps = steps_of([look(0, 100, 50), *commits, look(840, 300, 70), look(900, 360, 71)])
    assert [step.quality for step in steps] == [*["unknown"] * 14, "ok"]
    assert [step.arrived for step in steps] == [*[None] * 14, 60]
    assert [step.served for step in steps] == [*[1] * 13, 7, 1]


def test_a_step_that_begins_within_a_long_line_is_interpolated() -> None:
    steps = steps_of([look(0, 0), look(30, 5), look(150, 65), look(180, 70), look(240, 80)])
    assert [step.quality for step in steps] == ["interpolated", "interpolated", "interpolated", "ok"]


def test_the_oldest_record_left_is_dated_by_when_it_arrived() -> None:
    """Ten records a minute; the group has read those of the first minute only."""
    steps = steps_of([look(60 * n, 10 * n, min(10 * n, 10)) for n in range(6)])
    assert [step.lag for step in steps] == [0, 10, 20, 30, 40]
    assert [step.time_lag for step in steps] == [0, MINUTE, 2 * MINUTE, 3 * MINUTE, 4 * MINUTE]


def test_a_record_is_dated_on_the_line_between_two_looks() -> None:
    steps = steps_of([look(0, 0, 0), look(60, 10, 0), look(120, 10, 5)])
    assert steps[-1].time_lag == 90 * SECOND  # offset 5 came half a minute after the start


def test_a_record_from_before_the_first_look_has_no_known_age() -> None:
    [step] = steps_of([look(0, 1_000, 10), look(60, 1_001, 20)])
    assert (step.lag, step.time_lag) == (981, None)


def test_an_old_lag_is_still_dated_after_thousands_of_steps() -> None:
    """Coarsely: points are let go, the further back the more of them."""
    steps = steps_of([look(60 * n, 10 * n, 0 if n < 3_000 else 10 * 1_500) for n in range(3_001)])
    assert steps[-2].time_lag == 2_999 * MINUTE
    assert steps[-1].time_lag == 1_500 * MINUTE  # it grew evenly, so what is between points is exact


def test_steps_are_whole_quarters_of_an_hour_at_most() -> None:
    steps = steps_of(
        [look(900 * n, n) for n in range(3)], dataclasses.replace(SETTINGS, step_s=900, max_gap_s=900)
    )
    assert [minutes(step) for step in steps] == [15, 30]
