"""The collector's state is restored."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from kafka_assignors import PlanReport, StickyAssignor
from tests.support.group.joining import cluster, joined, raw


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    on = gc.isenabled()
    yield
    gc.enable() if on else gc.disable()


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_collector_is_off_only_during_a_plan(on: bool, fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if planning fails, or the user has disabled it."""
    seen: list[bool] = []
    gc.enable() if on else gc.disable()

    def look(_report: PlanReport) -> None:
        seen.append(gc.isenabled())

    if fails:
        monkeypatch.setattr("kafka_assignors.assignor.base.resolve", None)
    StickyAssignor(on_plan=look).assign(cluster({"t": 1}), [joined("a", raw(["t"]))])
    assert seen == ([] if fails else [False])
    assert gc.isenabled() is on
