"""The demo's second scene for real, small: each strategy drains the same backlog."""

from __future__ import annotations

import pytest

from demo.group.logs import read_log
from demo.results import DrainResult
from tests.integration.demo.small_demo import BACKLOG, CONSUMERS, PARTITIONS, STRATEGIES, Demo

WORK_S = 0.003
MIN_IMPROVEMENT = 0.1  # the default: a plan that would win less is not worth its moves


@pytest.fixture(scope="module")
def runs(demo: Demo) -> dict[str, DrainResult]:
    return {run["strategy"]: run for run in demo.results["backlog"]}


def test_every_strategy_drains_the_backlog(runs: dict[str, DrainResult]) -> None:
    assert list(runs) == list(STRATEGIES)
    for run in runs.values():
        assert run["produced"] == run["processed"] == BACKLOG
        assert (run["lost"], run["double_owned"], run["owned_at_end"]) == (0, 0, PARTITIONS)
        assert run["fault"] == ""
        assert run["lag"]["total"][-1] == run["largest"][-1] == 0


def test_no_drain_is_faster_than_the_common_bound(runs: dict[str, DrainResult]) -> None:
    [least] = {run["least_largest"] for run in runs.values()}
    assert least >= BACKLOG / CONSUMERS
    for run in runs.values():
        assert run["bound"] == pytest.approx(least * WORK_S, abs=0.001)
        assert run["ratio"] is not None
        assert run["ratio"] > 0.99
        # The member with the largest load determines the time, not the machine.
        assert run["drain"] > 0.99 * run["largest_load"] * WORK_S
        assert run["drain"] < 60


def test_loads_add_up_to_the_plans_loads(runs: dict[str, DrainResult]) -> None:
    for run in runs.values():
        loads = [lags[0] for lags in run["lag"]["members"].values()]
        assert sum(loads) == BACKLOG
        assert run["lag"]["unowned"][0] == 0
        assert max(loads) == run["largest_load"]


def test_largest_load_by_lag_is_at_most_a_tenth_above_plans_by_count(runs: dict[str, DrainResult]) -> None:
    """The order of joins decides which plan is kept, up to a tenth above the best."""
    by_lag = runs["cooperative-lag-aware"]["largest_load"]
    for by_count in ("range", "cooperative-sticky"):
        assert by_lag <= runs[by_count]["largest_load"] / (1 - MIN_IMPROVEMENT), by_count


def test_no_member_reads_before_the_start_signal(demo: Demo) -> None:
    for strategy in STRATEGIES:
        folder = demo.out / "backlog" / strategy
        [go] = [entry.t for entry in read_log(folder / "driver.jsonl") if entry.event == "go"]
        for member in ("m1", "m2", "m3"):
            log = read_log(folder / f"{member}.jsonl")
            assert min(entry.t for entry in log if entry.event == "done") > go
            assert min(entry.t for entry in log if entry.event == "opened") < go


def test_progress_names_each_step(demo: Demo) -> None:
    lines = demo.ended.stderr
    assert lines.count(f"{BACKLOG:,} records are waiting, starting {CONSUMERS} members") == len(STRATEGIES)
    assert lines.count("is the least it can take") == len(STRATEGIES)
