"""When a recording is maintained, and after a failure."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.maintenance import Maintenance, maintain


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_runs_hourly_and_sooner_if_there_is_more_to_merge() -> None:
    clock, more, runs = Clock(), [True, False, False], []

    def run() -> bool:
        runs.append(clock.now)
        return more[len(runs) - 1]

    maintenance = Maintenance(run, clock)
    for clock.now in range(0, 5_000, 10):
        maintenance.check()
    assert runs == [60, 120, 3720]


def test_failure_is_logged_and_kept_until_a_run_works(caplog: pytest.LogCaptureFixture) -> None:
    clock, failures = Clock(), [PipelineError("the disk is full")]

    def run() -> bool:
        if failures:
            raise failures.pop()
        return False

    maintenance = Maintenance(run, clock)
    clock.now = 60
    maintenance.check()
    assert str(maintenance.down) == "the disk is full"
    assert caplog.messages == ["the disk is full; trying again in 60 min"]
    clock.now += 3599
    maintenance.check()
    assert maintenance.down is not None
    clock.now += 1
    maintenance.check()
    assert maintenance.down is None


@pytest.mark.parametrize("keep_days", [-1, 100_000, 1.5])
def test_number_of_days_out_of_range_deletes_nothing(keep_days: float) -> None:
    """It is refused before the storage is used."""
    with pytest.raises(OptionError, match=r"keep_days.*from 0 to 99999"):
        maintain(cast(Any, None), "root", keep_days=cast(Any, keep_days))
