"""Who is left out, and when."""

from __future__ import annotations

import pytest

from bench.outlook import Outlook, Seen, expected


@pytest.mark.parametrize(
    ("seen", "work", "seconds"),
    [
        (Seen(100, 2.0), 1000, 20.0),
        (Seen(100, 2.0), 50, 1.0),
        (Seen(100, None), 100, None),
        (Seen(100, None), 99, 0.0),  # less than what was too much may still work
    ],
)
def test_time_goes_with_the_work(seen: Seen, work: int, seconds: float | None) -> None:
    assert expected(seen, work) == seconds


def test_the_first_problem_of_a_kind_and_phase_is_always_tried() -> None:
    outlook = Outlook(10, in_proportion=True)
    outlook.saw("half", "fresh", 100, None)
    assert outlook.hopeless("half", "fresh", 100)
    assert not outlook.hopeless("half", "stable", 10**9)
    assert not outlook.hopeless("tiers", "fresh", 10**9)


@pytest.mark.parametrize("in_proportion", [True, False])
def test_only_who_is_proportional_is_left_out_after_a_success(in_proportion: bool) -> None:
    outlook = Outlook(10, in_proportion=in_proportion)
    outlook.saw("half", "fresh", 100, 2.0)
    assert not outlook.hopeless("half", "fresh", 1000)  # 20 s: it may be half of that
    assert outlook.hopeless("half", "fresh", 1001) is in_proportion


def test_the_last_problem_counts() -> None:
    outlook = Outlook(10, in_proportion=True)
    outlook.saw("half", "fresh", 100, 2.0)
    outlook.saw("half", "fresh", 1000, 2.0)
    assert not outlook.hopeless("half", "fresh", 10_000)
