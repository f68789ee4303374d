"""A cluster that does not answer for a while, and the ``tasks`` command."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import FreshNames
from tests.integration.guarded import Guarded
from tests.integration.stateful.stateful_app import App
from tests.support.command_line import run_command


def tasks(bootstrap: str, group: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``kafka-assignors tasks``."""
    return run_command("tasks", group, "--bootstrap", bootstrap, *words)


@pytest.mark.long
def test_member_without_a_cluster_waits_within_its_memory(
    names: FreshNames, guarded: Guarded, tmp_path: Path
) -> None:
    """It stops at its limit of memory, goes on when the cluster is back, and loses nothing."""
    # One batch has all records, and fills memory before the interval is over, without the cluster.
    settings = {"max_uncommitted_bytes": 20_000, "commit_interval_ms": 20_000}
    with App(names, tmp_path, partitions=2, **settings) as app:
        app.produce(3_000)
        a = app.join("a", bootstrap=guarded.proxied, filler=100, delay_s=0.02, max_poll_records=3_000)
        app.wait_until(lambda: sum(app.committed().values()) > 100, "it to be in the middle of it")
        guarded.proxy.mode = "cut"
        app.wait_until(lambda: a.logged("processing waits for a commit"), "processing to stop")
        assert not app.done()
        a.order("fast")
        guarded.proxy.mode = "pass"
        app.wait_until_done()
        a.close()
        # Writes cut off with the connection may have arrived, and are then processed twice.
        assert app.doubles().total() <= 1_000


def test_member_closes_although_the_cluster_does_not_answer(
    names: FreshNames, guarded: Guarded, tmp_path: Path
) -> None:
    """Within ``close_timeout_s``, and with no record half processed."""
    patient = {"session_timeout_ms": 240_000, "heartbeat_interval_ms": 300}
    with App(names, tmp_path, partitions=2, close_timeout_s=10.0) as app:
        a = app.join("a", bootstrap=guarded.proxied, delay_s=0.002, **patient)
        app.wait_until_all_are_ready(a)
        app.produce(3_000)
        app.wait_until(lambda: sum(app.committed().values()) > 100, "it to be in the middle of it")
        guarded.proxy.mode = "stall"
        a.signal(signal.SIGTERM)
        assert a.wait() == 0
        assert a.of_kind("ended")
        assert not app.done()
        counted = [sum(int(n) for key, n in state.items() if key.startswith(b"n:")) for state in app.state()]
        assert all(counted[p] >= offset for p, offset in app.committed().items())


def test_tasks_command_lists_active_tasks_and_standbys(fresh: FreshNames, tmp_path: Path) -> None:
    """With the lags of standbys at the last rebalance."""
    with App(fresh, tmp_path, num_standby_replicas=1) as app:
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        b = app.join("b")
        app.wait_until(lambda: len(a.ready) == len(b.ready) == 2, "balance")
        app.wait_until(lambda: not a.state["probing"] and not b.state["probing"], "the end of probing")

        def listed() -> Any:
            done = tasks(app.bootstrap, app.group, "--output", "json")
            return json.loads(done.stdout) if done.returncode == 0 else {}

        app.wait_until(lambda: listed().get("state") == "Stable", "the group to be stable")
        listing = listed()
        assert [task["task"] for task in listing["tasks"]] == [f"count_{p}" for p in range(4)]
        assert listing["probe_at"] is None
        by_member: dict[str, set[int]] = {}
        for task in listing["tasks"]:
            by_member.setdefault(task["active"]["member"], set()).add(task["partition"])
            assert [copy["member"] for copy in task["standby"]] != [task["active"]["member"]]
            assert len(task["standby"]) == 1
        assert sorted(map(sorted, by_member.values())) == sorted([sorted(a.ready), sorted(b.ready)])
        shown = tasks(app.bootstrap, app.group)
        assert f"{app.group}: Stable, 2 members, 4 tasks, 4 standbys, 0 warm-ups" in shown.stdout
        app.close()
        refused = tasks(app.bootstrap, app.group)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "has no members" in refused.stderr
