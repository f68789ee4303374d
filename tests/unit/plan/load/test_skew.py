"""The decision when a rebalance pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.lag import RebalanceOnSkew, SkewWatch

POLICY = RebalanceOnSkew(
    threshold=2, at_least=100, for_s=30, check_s=10, cool_down_s=60, jitter=0, per_hour=3
)
EVEN = (1_000, 900)
UNEVEN = (2_000, 900)


def watch(policy: RebalanceOnSkew = POLICY) -> SkewWatch:
    watcher = SkewWatch(policy, "m")
    watcher.begin_cool_down(0.0)
    return watcher


def test_imbalance_has_to_last() -> None:
    watcher = watch()
    times = [(100.0, False), (120.0, False), (129.9, False), (130.0, True)]
    assert [watcher.record_check(t, *UNEVEN) for t, _ in times] == [expected for _, expected in times]


def test_an_even_check_restarts_the_wait() -> None:
    watcher = watch()
    assert not watcher.record_check(100, *UNEVEN)
    assert not watcher.record_check(125, *EVEN)
    assert not watcher.record_check(135, *UNEVEN)
    assert watcher.record_check(165, *UNEVEN)


@pytest.mark.parametrize(("largest", "least"), [(1_999, 1_000), (150, 60), (0, 0)])
def test_small_imbalance_never_pays(largest: int, least: int) -> None:
    """Less than twice the bound, or less than a hundred records above it."""
    watcher = watch()
    assert not any(watcher.record_check(t, largest, least) for t in range(0, 1000, 10))


def test_lag_of_a_single_member_is_uneven() -> None:
    assert [watch().record_check(t, 500, 0) for t in (100, 200)] == [False, False]
    watcher = watch()
    watcher.record_check(100, 500, 0)
    assert watcher.record_check(130, 500, 0)


def test_a_group_without_lag_is_never_uneven() -> None:
    watcher = watch(RebalanceOnSkew(at_least=0, for_s=0, cool_down_s=0, jitter=0))
    assert not watcher.record_check(100, 0, 0)
    assert watcher.record_check(100, 1, 0)


def test_a_load_that_is_even_for_a_bound_is_even_for_all_higher_bounds() -> None:
    """A check relies on this: it computes the exact bound only if a simple one is uneven."""
    watcher = watch(RebalanceOnSkew(threshold=1.3, at_least=7))
    for largest in range(0, 40):
        counts = [watcher.is_uneven(largest, least) for least in range(0, 40)]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("min_improvement", "after", "expected"),
    [
        *[(0.1, 1_800, 1_800), (0.1, 1_801, None), (0.0, 1_999, 1_999), (0.0, 2_000, None)],
        *[(0.8, 400, 400), (0.8, 401, None), (0.9, 200, 200), (0.9, 201, None)],
    ],
)
def test_a_plan_has_to_reduce_the_load(min_improvement: float, after: int, expected: int | None) -> None:
    """By exactly ``min_improvement`` is enough, as for the planner: 1 - 0.8 is inexact in floats."""
    watcher = SkewWatch(replace(POLICY, for_s=0), "m", min_improvement)
    watcher.begin_cool_down(0.0)
    assert watcher.load_after_rebalance(60, *UNEVEN, lambda: after) == expected
    # A plan that does not pay starts a cool-down.
    assert watcher.record_check(61, *UNEVEN) is (expected is not None)


def test_nothing_is_planned_before_the_wait_is_over() -> None:
    assert watch().load_after_rebalance(100, *UNEVEN, lambda: pytest.fail("planned")) is None


def test_any_rebalance_starts_a_cool_down() -> None:
    watcher = watch()
    watcher.begin_cool_down(100)
    assert not any(watcher.record_check(t, *UNEVEN) for t in (101, 131, 159.9))
    assert watcher.record_check(160, *UNEVEN)


def test_jitter_stretches_the_wait_and_the_cool_down() -> None:
    """By the same factor as the interval of checks."""
    policy = replace(POLICY, jitter=0.5)
    stretch = SkewWatch(policy, "m").check_s / policy.check_s
    assert stretch > 1.1
    watcher = watch(policy)
    times = [100, 100 + policy.for_s * stretch - 0.1, 100 + policy.for_s * stretch + 0.1]
    assert [watcher.record_check(t, *UNEVEN) for t in times] == [False, False, True]
    watcher = watch(replace(policy, for_s=0))
    watcher.begin_cool_down(100)
    times = [100 + policy.cool_down_s * stretch - 0.1, 100 + policy.cool_down_s * stretch + 0.1]
    assert [watcher.record_check(t, *UNEVEN) for t in times] == [False, True]


def test_rebalances_an_hour_are_limited() -> None:
    watcher = watch()
    asked = []
    for t in range(0, 7_200, 10):
        if watcher.record_check(t, *UNEVEN):
            watcher.record_request(t)
            asked.append(t)
    assert len(asked) == 6
    assert all(later - first >= 3_600 for first, later in zip(asked, asked[3:], strict=False))


def test_consumers_check_at_different_times() -> None:
    policy = RebalanceOnSkew(check_s=10, jitter=0.5)
    intervals = [SkewWatch(policy, f"consumer-{i}").check_s for i in range(100)]
    assert all(10 <= check_s < 15 for check_s in intervals)
    assert max(intervals) - min(intervals) > 4
    assert SkewWatch(policy, "consumer-7").check_s == intervals[7]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("threshold", 0.9), ("at_least", -1), ("for_s", -1), ("check_s", 0), ("cool_down_s", -0.1)],
        *[("jitter", 1.1), ("jitter", -0.1), ("per_hour", 0)],
    ],
)
def test_options_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"rebalance_on_skew.*{name}: expected a"):
        RebalanceOnSkew(**{name: value})  # type: ignore[arg-type]  # on purpose
