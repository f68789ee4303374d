"""The settings of one demo run."""

from __future__ import annotations

from typing import Any

import pytest

from demo.settings import Settings
from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.churn import parse_churn


def test_default_replay_lasts_until_the_killed_member_is_replaced() -> None:
    settings = Settings()
    [join, leave, kill] = settings.acts()
    assert [str(act) for act in (join, leave, kill)] == ["join m5", "leave m1", "kill m2"]
    assert settings.duration > kill.at + settings.session_timeout_ms / 1e3 + 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"speed": 0}, "0 is not a number above 0"),
        ({"duration": float("nan")}, "nan is not a number above 0"),
        ({"duration": float("inf")}, "inf is not a number above 0"),
        ({"work_ms": -1}, "-1 is not a number of milliseconds"),
        ({"warm_up_ms": float("inf")}, "inf is not a number of milliseconds"),
        ({"warm_up_ms": 2000}, "18 partitions of 2000 ms do not fit between two polls, 30 s at most"),
        ({"work_ms": 2000}, "25 records of 2000 ms do not fit"),
        ({"strategies": ()}, "none given"),
        ({"strategies": ("range", "range")}, "given twice"),
        ({"duration": 10}, "kill@11 is not within the replay of 10 s"),
        ({"consumers": 1, "churn": parse_churn("kill@1")}, "without a member"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Settings(**wrong)
    assert message in str(caught.value)


def test_backlog_ignores_the_churn_and_has_time_enough_for_one_member_alone() -> None:
    settings = Settings(scenes=("backlog",), consumers=1, duration=1, backlog=10_000, work_ms=4)
    assert settings.backlog_timeout == settings.drain_timeout + 40
