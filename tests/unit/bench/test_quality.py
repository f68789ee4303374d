"""Judging anybody's plan."""

from __future__ import annotations

from bench.problems import Moment, Plan
from bench.quality import Quality, judge

BOTH = ["t", "u"]
MOMENT = Moment(
    {"t": 4, "u": 2, "nobody's": 9},
    {"a": BOTH, "b": BOTH},
    {"a": {"t": [0, 1, 2, 3]}, "b": {"u": [0, 1]}},
)


def test_a_good_plan() -> None:
    plan: Plan = {"a": {"t": [0, 1, 2]}, "b": {"t": [3], "u": [0, 1]}}
    assert judge(MOMENT, plan) == Quality(valid=True, unassigned=0, squares=18, moved=1)


def test_what_is_held_back_has_no_owner_and_is_moved() -> None:
    quality = judge(MOMENT, {"a": {"t": [0, 1, 2]}, "b": {"u": [0, 1]}})
    assert (quality.valid, quality.unassigned, quality.moved) == (True, 1, 1)


def test_invalid_plans() -> None:
    twice: Plan = {"a": {"t": [0, 1, 2]}, "b": {"t": [2, 3], "u": [0, 1]}}
    unknown: Plan = {"a": {"t": [0, 1, 2, 4]}, "b": {"u": [0, 1]}}
    unsubscribed: Plan = {"a": {"nobody's": [0]}, "b": {}}
    somebody_is_missing: Plan = {"a": {}}
    for plan in (twice, unknown, unsubscribed, somebody_is_missing):
        assert not judge(MOMENT, plan).valid
