"""A member that freezes during a rebalance, until the group has removed it and gone on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App, Member
from tests.support.quick import long

NEVER: dict[str, Any] = {"commit_interval_ms": 600_000}
STATIC: dict[str, Any] = {"group_instance_id": "one"}


def freeze_while_joining(app: App, **settings: Any) -> tuple[Member, Member]:
    """Freeze a member between JoinGroup and SyncGroup, with uncommitted changes.

    The other member then owns its task, and has processed and committed these records and more.
    """
    a = app.join("a", options=NEVER, **settings)
    app.wait_until_all_are_ready(a)
    app.produce(1_000)
    app.wait_until(lambda: a.state["processed"] == 1_000, "it to have changes")
    a.order("freeze joining")
    app.wait_until(lambda: a.of_kind("will freeze"), "its answer")
    b = app.join("b")
    app.wait_until(lambda: a.of_kind("frozen"), "it to join again")
    app.wait_until_all_are_ready(b)
    app.produce(500)
    app.wait_until_done()
    assert a.state["ready"] == [0], "it still processes the task"
    return a, b


@pytest.mark.parametrize("settings", [{}, long(STATIC)], ids=["dynamic", "static"])
def test_lost_task_is_neither_written_nor_committed_by_its_former_owner(
    fresh: FreshNames, tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Its task is reported as lost, not as revoked."""
    with App(fresh, tmp_path, partitions=1) as app:
        a, b = freeze_while_joining(app, **settings)
        ends, generation = app.changelog_ends(), b.state["generation"]
        a.signal(signal.SIGCONT)
        app.wait_until(lambda: a.state["generation"] > generation, "it to join anew")
        app.wait_until(lambda: a.ready == set(), "it to give up the task")
        assert app.committed() == {0: 1_500}
        assert app.changelog_ends() == ends
        assert a.logged("membership lost during the join")
        app.produce(10, keys=1)
        app.wait_until_done()
        app.close()
        app.assert_exact()


def test_work_of_another_owner_that_died_is_continued(fresh: FreshNames, tmp_path: Path) -> None:
    """Its claim is the only one, so nothing is revoked, and its own state is old."""
    with App(fresh, tmp_path, partitions=1) as app:
        a, b = freeze_while_joining(app)
        b.kill()
        a.signal(signal.SIGCONT)
        generation = b.state["generation"]
        app.wait_until(lambda: a.state["generation"] > generation and a.ready, "it to have the task again")
        app.produce(10, keys=1)
        app.wait_until(lambda: a.state["processed"] >= 1_010, "it to go on")
        a.close()
        assert a.state["restored"] > 0
        assert a.state["processed"] == 1_010, "it processed committed records again"
        assert app.committed() == {0: 1_510}
        app.assert_exact()


def test_static_leader_that_restarts_still_asks_for_the_probing_rebalance(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """The broker starts no rebalance at a restart, so only this member knows when the probe is due."""
    with App(fresh, tmp_path, partitions=2, probing_rebalance_interval_ms=5_000) as app:
        static: dict[str, Any] = {"group_instance_id": "one", "session_timeout_ms": 60_000}
        leader = app.join("a", **static)
        app.wait_until_all_are_ready(leader)
        app.produce(2_000)
        app.wait_until_done()
        b = app.join("b")
        app.wait_until(lambda: leader.state["probing"] and b.state["warmups"], "the warm-up")
        leader.kill()
        again = app.join("a", **static)
        app.wait_until(lambda: len(again.ready) == len(b.ready) == 1, "the task to move")
        assert not leader.logged("probing rebalance")
        assert again.logged("probing rebalance")
        app.wait_until_all_are_ready(again, b)
        app.close()
        app.assert_exact()
