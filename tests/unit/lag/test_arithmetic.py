from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.lag import Reset, lag
from kafka_assignors.lag.arithmetic import age_ms, begin_matters, first_unread


@pytest.mark.parametrize(
    ("offsets", "reset", "expected", "why"),
    [
        ((100, 40, 0), "earliest", 60, "KIP-169: end - committed"),
        ((100, 40, 0), "latest", 60, "whatever the reset, if there is a commit"),
        ((100, None, 30), "earliest", 70, "KIP-169: no commit, all that is there"),
        ((100, None, 30), "latest", 0, "KIP-169: no commit, and it starts at the end"),
        ((100, 100, 30), "earliest", 0, "caught up"),
        ((100, 30, 30), "latest", 70, "a commit at the begin is in the log"),
        ((100, 10, 30), "earliest", 70, "truncated: it starts at what is left"),
        ((100, 10, 30), "latest", 0, "truncated: out of range, and it starts at the end"),
        ((100, 101, 30), "earliest", 70, "created again: out of range, from the begin"),
        ((100, 101, 30), "latest", 0, "created again: out of range, and it starts at the end"),
        ((0, 500, 0), "earliest", 0, "created again, and empty"),
        ((0, None, 0), "earliest", 0, "never written to"),
        ((50, None, 50), "earliest", 0, "all deleted"),
        ((50, 20, 50), "latest", 0, "all deleted, and read long ago"),
        ((100, 100, None), "earliest", 0, "caught up: the begin was not asked for"),
    ],
)
def test_lag_of_a_partition(
    offsets: tuple[int, int | None, int | None], reset: Reset, expected: int, why: str
) -> None:
    assert lag(*offsets, reset) == expected, why


OFFSETS = st.integers(-5, 50)
RESETS: st.SearchStrategy[Reset] = st.sampled_from(["earliest", "latest"])


@given(OFFSETS, st.none() | OFFSETS, OFFSETS, RESETS)
def test_lag_is_between_zero_and_the_log_size(
    end: int, committed: int | None, begin: int, reset: Reset
) -> None:
    assert 0 <= lag(end, committed, begin, reset) <= max(end - begin, 0)


@given(st.integers(0, 50), st.none() | st.integers(0, 60), st.integers(0, 50), RESETS)
def test_begin_matters_if_the_lag_depends_on_it(
    end: int, committed: int | None, begin: int, reset: Reset
) -> None:
    """If it does not matter, every possible begin gives the same lag."""
    if not begin_matters(end, committed, reset):
        assert lag(end, committed, None, reset) == lag(end, committed, min(begin, end), reset)


@given(st.integers(1, 50), st.none() | st.integers(0, 60), RESETS)
def test_begin_matters_only_if_the_lag_depends_on_it(end: int, committed: int | None, reset: Reset) -> None:
    """If it matters, two begins give different lags."""
    if begin_matters(end, committed, reset):
        assert len({lag(end, committed, begin, reset) for begin in range(end + 1)}) > 1


@pytest.mark.parametrize(
    ("offsets", "reset", "first"),
    [
        ((100, 40, 0), "earliest", 40),
        ((100, None, 30), "earliest", 30),
        ((100, 10, 30), "earliest", 30),
        ((100, 120, 30), "earliest", 30),
        ((100, None, 30), "latest", None),
        ((100, 10, 30), "latest", None),
        ((100, 100, 30), "earliest", None),
    ],
)
def test_first_unread_offset(offsets: tuple[int, int | None, int], reset: Reset, first: int | None) -> None:
    assert first_unread(*offsets, reset) == first


def test_record_of_a_clock_that_is_ahead_has_no_age() -> None:
    assert (age_ms(1_000, 1_250), age_ms(1_000, 900)) == (250, 0)
