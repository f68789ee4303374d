"""The service rate of a member: the records a second that it commits while it has a backlog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.lag.service_rate import LEAST_S, ServiceRate
from kafka_assignors.plan import TopicPartition

A, B = (TopicPartition("t", p) for p in range(2))
BACKLOG = 10**9

waits = st.lists(st.floats(0.1, 60), min_size=2, max_size=40)
commits_s = st.floats(0.1, 90)


def looked(*looks: tuple[float, int, int]) -> ServiceRate:
    """A member of one partition; looks are seconds, lag and commit."""
    member = ServiceRate()
    member.begin([A])
    for at_s, lag, commit in looks:
        member.measure({A: lag}, {A: commit}, at_s)
    return member


def reading(rates: Iterable[float], first: int = 0) -> list[tuple[float, int, int]]:
    """Looks every 10 s at a member with a backlog that reads these records a second."""
    looks, commit = [(10.0 * first, BACKLOG, 0)], 0
    for step, rate in enumerate(rates, first + 1):
        commit += round(10 * rate)
        looks.append((10.0 * step, BACKLOG - commit, commit))
    return looks


@pytest.mark.parametrize(
    ("looks", "rate"),
    [
        ([(0, 10_000, 50), (10, 9_000, 1_050)], 100),
        ([(0, 10_000, 50)], 0),
        ([(0, 10_000, 0), (LEAST_S - 1, 9_000, 1_000)], 0),
        ([(0, 10_000, 0), (400, 6_000, 4_000), (800, 2_000, 8_000)], 10),
        (
            [(0, 90_000, 0), (200, 90_000, 0), (400, 90_000, 0), (410, 89_000, 1_000), (420, 88_000, 2_000)],
            100,
        ),
        ([(0, 9_000, 0), (40, 8_600, 400), (50, 0, 9_000), (60, 9_000, 9_010), (70, 8_400, 9_610)], 20),
        ([(0, 5_000, 0), (10, 0, 5_000), (20, 3_000, 5_000), (30, 0, 8_000)], 0),
        ([(0, BACKLOG, 9_000), (10, BACKLOG, 100), (20, BACKLOG, 600)], 50),
        ([(0, BACKLOG, 0), (200, BACKLOG, 0), (400, BACKLOG, 10), (410, BACKLOG, 510)], 50),
    ],
    ids=[
        *("a backlog", "one look", "a few seconds", "looks far apart, commits between them"),
        *("paused for 400 s", "the mean of 400 records in 40 s and 600 in 10 s", "a burst read to its end"),
        *("a commit goes back", "it stood still for minutes"),
    ],
)
def test_rate_of_looks(looks: list[tuple[float, int, int]], rate: float) -> None:
    """Only times with a backlog and commits count."""
    assert looked(*looks).report() == rate


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60), commits_s, waits)
def test_member_that_keeps_up_shows_no_rate(
    arrivals: list[int], commit_s: float, seconds: Sequence[float]
) -> None:
    """It reads each record as it comes, whenever it commits and whenever we look."""
    member, at_s = ServiceRate(), 0.0
    member.begin([A])
    for wait_s in seconds:
        at_s += wait_s
        end = sum(arrivals[: int(at_s)])
        commit = sum(arrivals[: int(at_s // commit_s * commit_s)])
        member.measure({A: end - commit}, {A: commit}, at_s)
    assert member.report() == 0


@given(st.floats(1, 100_000), commits_s, waits)
def test_rate_is_right_whenever_the_member_commits(
    rate: float, commit_s: float, seconds: Sequence[float]
) -> None:
    """Within the records of one interval of commits, and none is invented before the first 10 s."""
    member, at_s, first_s = ServiceRate(), 0.0, seconds[0]
    member.begin([A])
    for wait_s in seconds:
        at_s += wait_s
        commit = int(rate * (at_s // commit_s * commit_s))
        member.measure({A: BACKLOG - commit}, {A: commit}, at_s)
    seen_s = at_s - first_s
    if not (found := member.report()):
        assert seen_s < LEAST_S + commit_s + 60
    elif seen_s <= 300:
        assert abs(found - rate) <= rate * commit_s / LEAST_S + 1


def test_rate_is_of_all_partitions() -> None:
    """The member reads B as records arrive; the backlog of A shows that it is busy."""
    member = ServiceRate()
    member.begin([A, B])
    member.measure({A: 5_000, B: 0}, {A: 0, B: 0}, 0)
    member.measure({A: 4_000, B: 0}, {A: 1_000, B: 500}, 10)
    assert member.report() == 150


def test_partition_that_is_not_read_is_no_backlog() -> None:
    """It is paused, and the member waits for the other's records."""
    member = ServiceRate()
    member.begin([A, B])
    for step in range(5):
        member.measure({A: BACKLOG, B: 20}, {A: 0, B: 100 * step}, 10.0 * step)
    assert member.report() == 0


def test_member_without_commits_has_no_rate() -> None:
    member = ServiceRate()
    member.begin([A])
    for step in range(5):
        member.measure({A: BACKLOG}, {}, 10.0 * step)
    assert member.report() == 0


def test_time_up_to_the_first_commit_does_not_count() -> None:
    """Until then the member may have read from anywhere."""
    member = ServiceRate()
    member.begin([A])
    member.measure({A: 10_000}, {}, 0)
    member.measure({A: 9_000}, {A: 1_000}, 10)
    assert member.report() == 0
    member.measure({A: 8_500}, {A: 1_500}, 20)
    assert member.report() == 50


def test_rebalance_does_not_count() -> None:
    """Nor does a look at it: the member stops reading."""
    member = looked(*reading([100]))
    member.begin(())
    member.measure({A: BACKLOG}, {A: 1_000}, 20)
    member.begin([A])
    member.measure({A: BACKLOG}, {A: 1_000}, 100)
    member.measure({A: BACKLOG}, {A: 2_000}, 110)
    assert member.report() == 100


def test_look_without_an_owned_partition_does_not_count() -> None:
    member = looked((0, BACKLOG, 0))
    member.measure({B: BACKLOG}, {B: 10**6}, 10)
    member.measure({A: BACKLOG, B: BACKLOG}, {A: 1_000, B: 10**6}, 20)
    assert member.report() == 50


def test_rate_follows_a_change_within_minutes() -> None:
    steps = [100.0] * 60
    assert looked(*reading(steps)).report() == pytest.approx(100)
    assert 150 < looked(*reading([*steps, *[1_000.0] * 3])).report() < 250, (
        "half a minute changes a part of it"
    )
    assert 950 < looked(*reading([*steps, *[1_000.0] * 100])).report() < 1_000


def test_small_changes_are_not_reported() -> None:
    """A plan stays as long as the member is about as fast as it was."""
    looks = reading([100.0] * 30 + [120.0] * 90 + [130.0] * 90)
    member, reported = looked(looks[0]), []
    for at_s, lag, commit in looks[1:]:
        member.measure({A: lag}, {A: commit}, at_s)
        reported.append(round(member.report()))
    assert set(reported[:120]) == {100}
    assert reported[-1] == 125


@given(st.lists(st.floats(100, 124), min_size=1, max_size=60))
def test_noise_of_a_quarter_changes_no_report(rates: list[float]) -> None:
    member = looked((0.0, BACKLOG, 0))
    reports = set()
    for at_s, lag, commit in reading(rates)[1:]:
        member.measure({A: lag}, {A: commit}, at_s)
        reports.add(member.report())
    assert len(reports) == 1
