"""Settings that do not fit together are refused where they are made."""

from __future__ import annotations

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.forecast import LoadSettings


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"step_s": 0}, "step_s"),
        ({"step_s": 7}, "step_s"),  # a quarter of an hour is no whole number of them
        ({"step_s": 1800}, "step_s"),
        ({"step_s": -60}, "step_s"),
        ({"step_s": float("nan")}, "step_s"),
        ({"horizon_s": 90}, "horizon_s"),
        ({"horizon_s": 30}, "horizon_s"),
        ({"step_s": 1, "horizon_s": 20_000}, "horizon_s"),
        ({"horizon_s": float("inf")}, "horizon_s"),
        ({"delay_s": -1}, "delay_s"),
        ({"delay_s": 90_000}, "delay_s"),
        ({"max_gap_s": 59}, "max_gap_s"),
        ({"reset": "none"}, "reset"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, float], option: str) -> None:
    with pytest.raises(OptionError) as refused:
        LoadSettings(**given)  # type: ignore[arg-type]  # wrong on purpose
    assert refused.value.option == option


def test_the_longest_gap_fits_the_step() -> None:
    assert LoadSettings(step_s=60).max_gap == 600_000_000
    assert LoadSettings(step_s=900).max_gap == 2_700_000_000
    assert LoadSettings(step_s=60, max_gap_s=90).max_gap == 90_000_000
