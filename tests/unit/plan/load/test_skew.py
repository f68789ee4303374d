"""When a rebalance pays."""

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
    made = SkewWatch(policy, "m")
    made.settled(0.0)
    return made


def test_it_has_to_last() -> None:
    looks = watch()
    times = [(100.0, False), (120.0, False), (129.9, False), (130.0, True)]
    assert [looks.lasting(t, *UNEVEN) for t, _ in times] == [expected for _, expected in times]


def test_a_look_at_which_it_is_even_begins_anew() -> None:
    looks = watch()
    assert not looks.lasting(100, *UNEVEN)
    assert not looks.lasting(125, *EVEN)
    assert not looks.lasting(135, *UNEVEN)
    assert looks.lasting(165, *UNEVEN)


@pytest.mark.parametrize(("largest", "least"), [(1_999, 1_000), (150, 60), (0, 0)])
def test_little_is_not_worth_it(largest: int, least: int) -> None:
    """Not twice as much; or less than a hundred records more."""
    looks = watch()
    assert not any(looks.lasting(t, largest, least) for t in range(0, 1000, 10))


def test_nobody_behind_but_one_is_uneven() -> None:
    assert [watch().lasting(t, 500, 0) for t in (100, 200)] == [False, False]
    looks = watch()
    looks.lasting(100, 500, 0)
    assert looks.lasting(130, 500, 0)


def test_a_group_without_lag_is_never_uneven() -> None:
    looks = watch(RebalanceOnSkew(at_least=0, for_s=0, cool_down_s=0, jitter=0))
    assert not looks.lasting(100, 0, 0)
    assert looks.lasting(100, 1, 0)


def test_a_bound_that_does_not_count_says_so_for_all_above_it() -> None:
    """What a look relies on that asks for the exact bound only when a simple one counts."""
    looks = watch(RebalanceOnSkew(threshold=1.3, at_least=7))
    for largest in range(0, 40):
        found = [looks.counts(largest, least) for least in range(0, 40)]
        assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("min_improvement", "after", "expected"),
    [(0.1, 1_800, 1_800), (0.1, 1_801, None), (0.0, 1_999, 1_999), (0.0, 2_000, None)],
)
def test_a_plan_has_to_make_it_smaller(min_improvement: float, after: int, expected: int | None) -> None:
    looks = SkewWatch(replace(POLICY, for_s=0), "m", min_improvement)
    looks.settled(0.0)
    assert looks.worth(60, *UNEVEN, lambda: after) == expected
    # When it does not, there is a time to cool down before the next plan.
    assert looks.lasting(61, *UNEVEN) is (expected is not None)


def test_nothing_is_planned_before_it_is_time() -> None:
    assert watch().worth(100, *UNEVEN, lambda: pytest.fail("planned")) is None


def test_after_any_rebalance_it_cools_down() -> None:
    looks = watch()
    looks.settled(100)
    assert not any(looks.lasting(t, *UNEVEN) for t in (101, 131, 159.9))
    assert looks.lasting(160, *UNEVEN)


def test_there_are_only_so_many_in_an_hour() -> None:
    looks = watch()
    asked = []
    for t in range(0, 7_200, 10):
        if looks.lasting(t, *UNEVEN):
            looks.asked(t)
            asked.append(t)
    assert len(asked) == 6
    assert all(later - first >= 3_600 for first, later in zip(asked, asked[3:], strict=False))


def test_consumers_do_not_all_look_at_once() -> None:
    policy = RebalanceOnSkew(check_s=10, jitter=0.5)
    looks = [SkewWatch(policy, f"consumer-{i}").check_s for i in range(100)]
    assert all(10 <= check_s < 15 for check_s in looks)
    assert max(looks) - min(looks) > 4
    assert SkewWatch(policy, "consumer-7").check_s == looks[7]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("threshold", 0.9), ("at_least", -1), ("for_s", -1), ("check_s", 0), ("cool_down_s", -0.1)],
        *[("jitter", 1.1), ("jitter", -0.1), ("per_hour", 0)],
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(name: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"rebalance_on_skew.*{name} must be"):
        RebalanceOnSkew(**{name: value})  # type: ignore[arg-type]  # on purpose
