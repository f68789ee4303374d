"""A cluster that does not answer for a while, and what ``tasks`` says of a group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.conftest import FreshNames
from tests.integration.guarded import Guarded
from tests.integration.stateful.stateful_app import App


def tasks(bootstrap: str, group: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``kafka-assignors tasks``."""
    return subprocess.run(
        [sys.executable, "-m", "kafka_assignors", "tasks", group, "--bootstrap", bootstrap, *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_a_member_that_does_not_reach_the_cluster_waits_within_its_memory(
    names: FreshNames, guarded: Guarded, tmp_path: Path
) -> None:
    """It takes no more than it may hold, goes on when the cluster is back, and loses nothing."""
    # Full before the interval is over: where a commit fails in the middle of a batch, the rest is put back.
    settings = {"max_uncommitted_bytes": 20_000, "commit_interval_ms": 5_000}
    with App(names, tmp_path, partitions=2, **settings) as app:
        a = app.join("a", bootstrap=guarded.proxied, filler=100, delay_s=0.002)
        app.wait_until_all_are_ready(a)
        app.produce(3_000)
        app.wait_until(lambda: sum(app.committed().values()) > 100, "it to be in the middle of it")
        guarded.proxy.mode = "cut"
        app.wait_until(lambda: a.logged("nothing more is taken"), "it to stop taking records")
        assert not app.done()
        guarded.proxy.mode = "pass"
        app.wait_until_done()
        a.close()
        # What was written when the connection was cut may have arrived, or have been done before it was lost.
        assert app.doubles() <= 1_000


def test_a_member_ends_although_the_cluster_does_not_answer(
    names: FreshNames, guarded: Guarded, tmp_path: Path
) -> None:
    """Within ``close_timeout_s``, not in the time that the group would give it; nothing is half done."""
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


def test_tasks_tells_who_has_what(fresh: FreshNames, tmp_path: Path) -> None:
    """In the members' own words: active tasks, standbys, and how far these were at the last rebalance."""
    with App(fresh, tmp_path, num_standby_replicas=1) as app:
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        b = app.join("b")
        app.wait_until(lambda: len(a.ready) == len(b.ready) == 2, "balance")
        app.wait_until(lambda: not a.state["probing"] and not b.state["probing"], "the end of probing")

        def found() -> Any:
            done = tasks(app.bootstrap, app.group, "--output", "json")
            return json.loads(done.stdout) if done.returncode == 0 else {}

        app.wait_until(lambda: found().get("state") == "Stable", "the group to be stable")
        told = found()
        assert [one["task"] for one in told["tasks"]] == [f"count_{p}" for p in range(4)]
        assert told["probe_at"] is None
        by_member: dict[str, set[int]] = {}
        for one in told["tasks"]:
            by_member.setdefault(one["active"]["member"], set()).add(one["partition"])
            assert [copy["member"] for copy in one["standby"]] != [one["active"]["member"]]
            assert len(one["standby"]) == 1
        assert sorted(map(sorted, by_member.values())) == sorted([sorted(a.ready), sorted(b.ready)])
        shown = tasks(app.bootstrap, app.group)
        assert f"{app.group}: Stable, 2 members, 4 tasks, 4 standbys, 0 warm-ups" in shown.stdout
        app.close()
        refused = tasks(app.bootstrap, app.group)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "has no members" in refused.stderr
