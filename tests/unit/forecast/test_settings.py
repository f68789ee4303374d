"""Settings of the load model are checked when they are created."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.forecast.settings import QUARTER, local_quarter


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"step_s": 0}, "step_s"),
        ({"step_s": 7}, "step_s"),  # does not divide a quarter of an hour
        ({"step_s": 1800}, "step_s"),
        ({"step_s": -60}, "step_s"),
        ({"step_s": float("nan")}, "step_s"),
        ({"step_s": "60"}, "step_s"),
        ({"step_s": None}, "step_s"),
        ({"step_s": 1e303}, "step_s"),
        ({"horizon_s": 90}, "horizon_s"),
        ({"horizon_s": 30}, "horizon_s"),
        ({"step_s": 1, "horizon_s": 20_000}, "horizon_s"),
        ({"horizon_s": float("inf")}, "horizon_s"),
        ({"horizon_s": 1e303}, "horizon_s"),
        ({"horizon_s": "3600"}, "horizon_s"),
        ({"delay_s": -1}, "delay_s"),
        ({"delay_s": 90_000}, "delay_s"),
        ({"delay_s": 1e303}, "delay_s"),
        ({"max_gap_s": 59}, "max_gap_s"),
        ({"max_gap_s": 1e303}, "max_gap_s"),
        ({"reset": "none"}, "reset"),
        ({"zone": "Europe/Atlantis"}, "zone"),
        ({"zone": "../Berlin"}, "zone"),
        ({"zone": None}, "zone"),
    ],
)
def test_invalid_setting_is_refused(given: dict[str, Any], option: str) -> None:
    with pytest.raises(OptionError) as refused:
        LoadSettings(**given)
    assert refused.value.option == option


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Kiritimati", "UTC"])
def test_last_time_of_spark_has_a_local_quarter(zone: str) -> None:
    """A damaged commit time must not end a batch."""
    last = 253_402_300_799_999_999 // QUARTER
    assert 0 <= local_quarter(last, zone) - last <= 14 * 4


def test_default_gap_is_ten_minutes_or_three_steps() -> None:
    assert LoadSettings(step_s=60).max_gap == 600_000_000
    assert LoadSettings(step_s=900).max_gap == 2_700_000_000
    assert LoadSettings(step_s=60, max_gap_s=90).max_gap == 90_000_000
