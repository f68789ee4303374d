"""Stateful members that come and go: counts stay right, copies are where they shall be."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App


def test_counts_are_exact_whoever_comes_and_goes(fresh: FreshNames, tmp_path: Path) -> None:
    """Members join and leave in order while records come; each record is counted once."""
    with App(fresh, tmp_path, partitions=6, num_standby_replicas=1) as app:
        app.produce(2_000)
        a, b = app.join(), app.join()
        app.wait_until_all_are_ready(a, b)
        app.produce(2_000)
        c = app.join()
        app.wait_until(lambda: c.ready, "the third to get tasks")
        app.produce(2_000)
        a.close()
        app.wait_until_all_are_ready(b, c)
        app.produce(2_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()


def test_a_signal_in_the_middle_of_processing_ends_a_member_in_order(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """What it did is committed, what it did not is left to others: each record is counted once."""
    with App(fresh, tmp_path) as app:
        a = app.join(delay_s=0.002)
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 100, "it to be in the middle of it")
        a.signal(signal.SIGTERM)
        assert a.wait() == 0
        assert a.of_kind("ended")
        assert not app.done(), "it was done before it heard the signal"
        b = app.join()
        app.wait_until_done()
        b.close()
        app.assert_exact()


def test_a_standby_that_takes_over_applies_the_tail_only(fresh: FreshNames, tmp_path: Path) -> None:
    """It was up to date when the other one died, so there is nothing to apply."""
    with App(fresh, tmp_path, num_standby_replicas=1) as app:
        a, b = app.join(), app.join()
        app.wait_until(lambda: len(a.ready) == len(b.ready) == 2, "balance")
        app.produce(4_000)
        app.wait_until_done()
        ends = app.changelog_ends()
        before = sum(ends[task] for task in a.ready)
        assert before >= 1_000
        app.wait_until(lambda: b.state["restored"] == before, "the standbys to be up to date")
        a.kill()
        app.wait_until_all_are_ready(b)
        assert b.state["restored"] == before
        app.produce(1_000)
        app.wait_until_done()
        b.close()
        app.assert_exact()


def test_a_new_member_warms_up_before_it_gets_tasks_and_one_member_probes(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """Probing goes on while copies are waited for, by the leader alone, and ends with balance."""
    with App(fresh, tmp_path, acceptable_recovery_lag=0, max_warmup_replicas=1) as app:
        a = app.join()
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until_done()
        assert not a.state["probing"], "alone, it has nothing to wait for"
        b = app.join()
        app.wait_until(lambda: len(b.ready) == 2, "half of the tasks to move")
        app.wait_until_all_are_ready(a, b)
        app.wait_until(
            lambda: not (a.state["probing"] or b.state["probing"] or b.state["warmups"]), "the end of probing"
        )
        warmed = [e["warmups"] for e in b.of_kind("state")]
        assert any(warmed), "it never warmed up"
        first = next(e for e in b.of_kind("state") if e["ready"])
        assert dict(first["lags"])[first["ready"][0]] == 0
        probes = [member for member in (a, b) if member.logged("probing rebalance")]
        assert len(probes) == 1
        assert not any(e["probing"] for m in (a, b) if m not in probes for e in m.of_kind("state"))
        rounds = len(probes[0].logged("probing rebalance"))
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        assert len(probes[0].logged("probing rebalance")) == rounds, "it went on probing in balance"
        app.assert_exact()


def test_state_that_is_still_on_disk_is_not_restored_again(fresh: FreshNames, tmp_path: Path) -> None:
    """A member that comes back goes on from its own copy."""
    with App(fresh, tmp_path) as app:
        app.produce(2_000)
        a = app.join("a")
        app.wait_until_done()
        a.close()
        app.produce(1_000)
        again = app.join("a")
        app.wait_until_done()
        assert again.state["restored"] == 0
        again.close()
        app.assert_exact()


def test_state_of_a_member_that_was_away_for_days_is_still_of_use(fresh: FreshNames, tmp_path: Path) -> None:
    """It is not deleted before the group says whose the tasks are; and nobody wrote meanwhile."""
    with App(fresh, tmp_path, cleanup_delay_s=5.0) as app:
        app.produce(2_000)
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        app.wait_until_done()
        a.close()
        days_ago = time.time() - 5 * 24 * 3600
        for entry in (tmp_path / "a").rglob("*"):
            os.utime(entry, (days_ago, days_ago))
        again = app.join("a")
        app.wait_until_all_are_ready(again)
        app.produce(1_000)
        app.wait_until_done()
        assert again.state["restored"] == 0
        again.close()
        app.assert_exact()


def test_state_of_tasks_that_went_elsewhere_is_deleted_after_a_while(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """And only that."""
    with App(fresh, tmp_path, cleanup_delay_s=1.0, acceptable_recovery_lag=100_000) as app:
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        app.wait_until_done()
        b = app.join("b")
        app.wait_until(lambda: len(b.ready) == len(a.ready) == 2, "half of the tasks to move")
        app.wait_until(
            lambda: len(a.logged("is deleted: it went elsewhere")) == 2, "their state to be deleted"
        )
        for partition in range(4):
            assert app.task_dir("a", partition).exists() == (partition in a.ready)
            assert app.task_dir("b", partition).exists() == (partition in b.ready)
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()


@pytest.mark.parametrize("frozen", ["leader", "other"])
def test_who_lost_its_membership_writes_nothing_any_more(
    fresh: FreshNames, tmp_path: Path, frozen: str
) -> None:
    """A process that stood still wakes up with changes in memory, of tasks that are others' now."""
    with App(fresh, tmp_path, commit_interval_ms=2_000, num_standby_replicas=1) as app:
        a = app.join(delay_s=0.002)
        app.wait_until_all_are_ready(a)
        b = app.join(delay_s=0.002)
        app.wait_until(lambda: b.ready, "both to have tasks")
        app.wait_until_all_are_ready(a, b)
        one, other = (a, b) if frozen == "leader" else (b, a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 200, "both to be in the middle of it")
        one.order("freeze")  # not by a signal from here: between changelog and offsets, doubles are allowed
        app.wait_until(lambda: one.of_kind("frozen"), "it to stand still with changes in memory")
        app.wait_until(lambda: len(other.ready) == app.partitions, "the other one to take over")
        other.order("fast")
        app.wait_until_done()
        one.signal(signal.SIGCONT)
        app.wait_until(lambda: one.state["generation"] >= other.state["generation"] > 0, "it to come back")
        app.wait_until_all_are_ready(a, b)
        one.order("fast")
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()
