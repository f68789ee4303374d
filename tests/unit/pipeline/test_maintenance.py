"""When a recording is maintained, and after a failure."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

import pytest

from kafka_assignors.background import Background
from kafka_assignors.errors import OptionError, PipelineError
from kafka_assignors.pipeline.maintenance import job
from kafka_assignors.pipeline.maintenance.job import Maintenance, maintain


class Due:
    """Stands in for the background thread: keeps the job that is due next, and its pause."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def submit(self, job: Callable[[], None], after_s: float) -> Future[None]:
        self.job = job
        self.pauses.append(after_s)
        return Future()


def test_runs_hourly_and_sooner_if_there_is_more_to_merge() -> None:
    due, more = Due(), iter([True, False, False])
    Maintenance(lambda: next(more), cast(Any, due))
    for _ in range(3):
        due.job()
    assert due.pauses == [60, 60, 3600, 3600]


def test_failure_is_logged_and_kept_until_a_run_works(caplog: pytest.LogCaptureFixture) -> None:
    due, failures = Due(), [PipelineError("the disk is full")]

    def run() -> bool:
        if failures:
            raise failures.pop()
        return False

    maintenance = Maintenance(run, cast(Any, due))
    due.job()
    assert str(maintenance.down) == "the disk is full"
    assert caplog.messages == ["the disk is full; trying again in 60 min"]
    due.job()
    assert maintenance.down is None
    assert due.pauses == [60, 3600, 3600]


def test_failure_because_the_pipeline_ends_is_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark stops while the maintenance runs."""
    background, runs = Background("test-maintenance"), list[str]()

    def run() -> bool:
        background.stop()
        runs.append("run")
        raise PipelineError("Spark itself has ended")

    monkeypatch.setattr(job, "_FIRST_S", 0.0)
    Maintenance(run, background)
    assert background.join(10)
    assert (runs, caplog.messages) == (["run"], [])


@pytest.mark.parametrize("keep_days", [-1, 100_000, 1.5])
def test_number_of_days_out_of_range_deletes_nothing(keep_days: float) -> None:
    """It is refused before the storage is used."""
    with pytest.raises(OptionError, match=r"keep_days.*from 0 to 99999"):
        maintain(cast(Any, None), "root", keep_days=cast(Any, keep_days))
