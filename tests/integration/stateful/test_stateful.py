"""Stateful members that join and leave: counts stay right, copies are placed by the plan."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App


def test_counts_are_exact_while_members_join_and_leave(fresh: FreshNames, tmp_path: Path) -> None:
    """Members leave in order while records come; each record is counted once."""
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


def test_signal_in_the_middle_of_processing_closes_a_member_in_order(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """Its work is committed, and other members do the rest; each record is counted once."""
    with App(fresh, tmp_path) as app:
        a = app.join(delay_s=0.002)
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 100, "it to be in the middle of it")
        a.signal(signal.SIGTERM)
        assert a.wait() == 0
        assert a.of_kind("ended")
        assert not app.done(), "it was done before the signal"
        b = app.join()
        app.wait_until_done()
        b.close()
        app.assert_exact()


def test_promoted_standby_applies_only_the_tail(fresh: FreshNames, tmp_path: Path) -> None:
    """It was up to date when the owner died, so there is nothing to apply."""
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


def test_new_member_warms_up_before_it_gets_tasks_and_one_member_probes(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """Only the leader probes, while copies catch up, and it stops in balance."""
    with App(fresh, tmp_path, acceptable_recovery_lag=0, max_warmup_replicas=1) as app:
        a = app.join()
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until_done()
        assert not a.state["probing"], "a single member has nothing to wait for"
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
        assert any('cause="probe (' in line for member in (a, b) for line in member.logged(" cause="))
        assert not any(e["probing"] for m in (a, b) if m not in probes for e in m.of_kind("state"))
        rounds = len(probes[0].logged("probing rebalance"))
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        assert len(probes[0].logged("probing rebalance")) == rounds, "it went on probing in balance"
        app.assert_exact()


def test_tasks_are_processed_and_committed_while_another_member_holds_up_a_rebalance(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """A suspended member keeps the broker from answering JoinGroup."""

    def group_state() -> str:
        return str(app.admin.describe_groups([app.group])[app.group]["group_state"])

    def committed() -> bool:
        return all(app.committed().get(number, 0) == app.given[number].total() for number in owned)

    with App(fresh, tmp_path) as app:
        a, b = (app.join(session_timeout_ms=30_000) for _ in range(2))
        app.wait_until(lambda: len(a.ready) == len(b.ready) == 2, "each to have half of the tasks")
        app.wait_until(lambda: not (a.state["probing"] or b.state["probing"]), "the end of probing")
        generation, owned = a.state["generation"], sorted(a.ready)
        b.signal(signal.SIGSTOP)
        app.join(session_timeout_ms=30_000)
        app.wait_until(lambda: group_state() == "PreparingRebalance", "the rebalance")
        began = time.monotonic()
        while time.monotonic() - began < 2:  # several heartbeats, which report the rebalance
            for partition in owned:
                app.produce(50, partition=partition)
            app.wait_until(committed, "its records to be committed")
        assert group_state() == "PreparingRebalance"
        assert a.state["generation"] == generation
        b.signal(signal.SIGCONT)
        app.wait_until_all_are_ready(*app.members)
        app.wait_until_done()
        app.close()
        app.assert_exact()


def test_state_of_a_member_that_was_away_for_days_is_used(fresh: FreshNames, tmp_path: Path) -> None:
    """It is not deleted before the assignment.  Records came meanwhile, and no other member wrote."""
    with App(fresh, tmp_path, cleanup_delay_s=5.0) as app:
        app.produce(2_000)
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        app.wait_until_done()
        a.close()
        days_ago = time.time() - 5 * 24 * 3600
        for entry in (tmp_path / "a").rglob("*"):
            os.utime(entry, (days_ago, days_ago))
        app.produce(1_000)
        again = app.join("a")
        app.wait_until_all_are_ready(again)
        app.wait_until_done()
        assert again.state["restored"] == 0
        again.close()
        app.assert_exact()


def test_state_of_tasks_that_moved_away_is_deleted(fresh: FreshNames, tmp_path: Path) -> None:
    """Other state stays."""
    with App(fresh, tmp_path, cleanup_delay_s=1.0, acceptable_recovery_lag=100_000) as app:
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        app.wait_until_done()
        b = app.join("b")
        app.wait_until(lambda: len(b.ready) == len(a.ready) == 2, "half of the tasks to move")
        app.wait_until(lambda: len(a.logged("deleted its unused state")) == 2, "their state to be deleted")
        for partition in range(4):
            assert app.task_dir("a", partition).exists() == (partition in a.ready)
            assert app.task_dir("b", partition).exists() == (partition in b.ready)
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()


@pytest.mark.long
@pytest.mark.parametrize("frozen", ["leader", "other"])
def test_member_that_lost_its_membership_writes_nothing(
    fresh: FreshNames, tmp_path: Path, frozen: str
) -> None:
    """A frozen process wakes up with uncommitted changes of tasks that other members own now."""
    with App(fresh, tmp_path, commit_interval_ms=2_000, num_standby_replicas=1) as app:
        a = app.join(delay_s=0.002)
        app.wait_until_all_are_ready(a)
        b = app.join(delay_s=0.002)
        app.wait_until(lambda: b.ready, "both to have tasks")
        app.wait_until_all_are_ready(a, b)
        first, other = (a, b) if frozen == "leader" else (b, a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 200, "both to be in the middle of it")
        first.order("freeze")  # a signal could stop it between changelog and offsets
        app.wait_until(lambda: first.of_kind("frozen"), "it to freeze with changes in memory")
        app.wait_until(lambda: len(other.ready) == app.partitions, "the other member to take over")
        other.order("fast")
        app.wait_until_done()
        first.signal(signal.SIGCONT)
        app.wait_until(lambda: first.state["generation"] >= other.state["generation"] > 0, "it to come back")
        app.wait_until_all_are_ready(a, b)
        first.order("fast")
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()
