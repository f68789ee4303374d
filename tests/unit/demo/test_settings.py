from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.demo.churn import parse
from kafka_assignors.demo.settings import Settings
from kafka_assignors.errors import OptionError


def test_the_defaults_compare_range_and_cooperative_sticky_through_three_steps() -> None:
    settings = Settings()
    assert settings.strategies == ("range", "cooperative-sticky")
    assert [str(act) for act in settings.acts()] == ["join m5", "leave m1", "kill m2"]
    assert settings.partitions >= 12


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"consumers": 0}, "0 is less than 1"),
        ({"partitions": 0}, "0 is less than 1"),
        ({"speed": 0}, "0 is not a number above 0"),
        ({"duration": float("nan")}, "nan is not a number above 0"),
        ({"duration": float("inf")}, "inf is not a number above 0"),
        ({"work_ms": -1}, "-1 is not a number of milliseconds"),
        ({"work_ms": float("nan")}, "nan is not a number of milliseconds"),
        ({"warm_up_ms": float("inf")}, "inf is not a number of milliseconds"),
        ({"warm_up_ms": 2000}, "18 partitions of 2000 ms do not fit between two polls, 30 s at most"),
        ({"work_ms": 2000}, "25 records of 2000 ms do not fit"),
        ({"strategies": ()}, "none given"),
        ({"strategies": ("range", "range")}, "given twice"),
        ({"duration": 30}, "kill@40 is not within the replay of 30 s"),
        ({"consumers": 1, "churn": parse("kill@1")}, "without a member"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError) as caught:
        Settings(**wrong)
    assert says in str(caught.value)
