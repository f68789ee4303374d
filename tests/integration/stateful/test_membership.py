"""A member that is cut off in the middle of a rebalance, until the group has forgotten it and gone on."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App, Member

NEVER: dict[str, Any] = {"commit_interval_ms": 600_000}
STATIC: dict[str, Any] = {"group_instance_id": "one"}


def cut_off(app: App, **settings: Any) -> tuple[Member, Member]:
    """One member stands still between JoinGroup and SyncGroup, with changes that it has not committed.

    The other one has its task by now, has done those records again, and more, and has committed all.
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
    assert a.state["ready"] == [0], "it still has the task in its hands"
    return a, b


@pytest.mark.parametrize("settings", [{}, STATIC], ids=["dynamic", "static"])
def test_what_another_one_went_on_with_is_neither_written_nor_committed_again(
    fresh: FreshNames, tmp_path: Path, settings: dict[str, Any]
) -> None:
    """It hears that its task is lost, not that it is to be given back."""
    with App(fresh, tmp_path, partitions=1) as app:
        a, b = cut_off(app, **settings)
        ends, generation = app.changelog_ends(), b.state["generation"]
        a.signal(signal.SIGCONT)
        app.wait_until(lambda: a.state["generation"] > generation, "it to join anew")
        app.wait_until(lambda: a.ready == set(), "it to let go of the task")
        assert app.committed() == {0: 1_500}
        assert app.changelog_ends() == ends
        assert a.logged("membership lost during the join")
        app.produce(10, keys=1)
        app.wait_until_done()
        app.close()
        app.assert_exact()


def test_what_another_one_did_and_died_is_gone_on_with_from_there(fresh: FreshNames, tmp_path: Path) -> None:
    """Its claim stands alone then: nobody revokes anything, and its own state is of long ago."""
    with App(fresh, tmp_path, partitions=1) as app:
        a, b = cut_off(app)
        b.kill()
        a.signal(signal.SIGCONT)
        generation = b.state["generation"]
        app.wait_until(lambda: a.state["generation"] > generation and a.ready, "it to have the task again")
        app.produce(10, keys=1)
        app.wait_until(lambda: a.state["processed"] >= 1_010, "it to go on")
        a.close()
        assert a.state["restored"] > 0
        assert a.state["processed"] == 1_010, "it did again what was committed"
        assert app.committed() == {0: 1_510}
        app.assert_exact()
