"""No acknowledged update is lost when a stateful member fails.

If a killed member had written its changelog and not committed the offsets, the next owner processes these
records again (at least once).  These tests count how often.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from kafka.structs import TopicPartition

from tests.integration.conftest import FreshNames
from tests.integration.stateful.stateful_app import App, Member
from tests.integration.stateful.stateful_member import POISON
from tests.support.quick import long

SLOWLY: dict[str, Any] = {"restore_fetch_bytes": 4096, "standby_bytes_per_s": 4096}
"""Slow restores, so that a test can interrupt one."""


@pytest.mark.long
def test_kill_in_the_middle_of_processing(fresh: FreshNames, tmp_path: Path) -> None:
    """At most the records between two commits are processed twice."""
    with App(fresh, tmp_path) as app:
        a = app.join("a", delay_s=0.001)
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 300, "it to be in the middle of it")
        a.kill()
        assert not app.done(), "it was done before it was killed"
        b = app.join("b")
        app.wait_until_done()
        b.close()
        # A commit each 100 ms, and the batch of a poll (500 records) that is begun before the next.
        assert app.doubles().total() <= 600


def test_kill_in_the_middle_of_restoring(fresh: FreshNames, tmp_path: Path) -> None:
    """A half-restored copy continues, or restarts."""
    with App(fresh, tmp_path, partitions=2) as app:
        app.produce(4_000)
        a = app.join("a", filler=500)
        app.wait_until_done()
        a.close()
        b = app.join("b", options=SLOWLY)
        app.wait_until(lambda: b.state["restored"] > 50, "it to begin restoring")
        assert not b.ready, "it was restored before it was killed"
        b.kill()
        app.produce(500)
        b = app.join("b")
        app.wait_until_done()
        assert b.state["restored"] > 1_000
        b.close()
        app.assert_exact()


@pytest.mark.long
def test_kill_in_the_middle_of_warming_up(fresh: FreshNames, tmp_path: Path) -> None:
    """The group goes on without it; after its restart it warms up again, and gets its tasks."""
    with App(fresh, tmp_path, acceptable_recovery_lag=10) as app:
        app.produce(4_000)
        a = app.join("a", filler=500)
        app.wait_until_done()
        b = app.join("b", options=SLOWLY)
        app.wait_until(lambda: b.state["warmups"] and b.state["restored"], "it to warm up")
        b.kill()
        app.produce(1_000)
        app.wait_until_done()
        assert a.ready == set(range(4))
        b = app.join("b")
        app.wait_until(lambda: len(b.ready) == 2, "it to get its tasks")
        app.wait_until_all_are_ready(a, b)
        app.produce(1_000)
        app.wait_until_done()
        app.close()
        app.assert_exact()


@pytest.mark.long
def test_damaged_checkpoint_restarts_the_state(fresh: FreshNames, tmp_path: Path) -> None:
    """The store is restored from the beginning, because its changelog is unknown."""
    with App(fresh, tmp_path) as app:
        app.produce(2_000)
        a = app.join("a")
        app.wait_until_done()
        a.close()
        file = app.task_dir("a", 1) / "checkpoint"
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_done()
        (line,) = a.logged("restored from the beginning")
        assert "count_1" in line
        assert "changed after it was written" in line
        a.close()
        app.assert_exact()


@pytest.mark.parametrize("damage", [long("a file is gone"), "bytes are flipped"])
def test_damaged_store_restarts_the_state(fresh: FreshNames, tmp_path: Path, damage: str) -> None:
    """Found when it is opened, or when it is read; then records since the last commit are processed again."""
    with App(fresh, tmp_path, partitions=2) as app:
        app.produce(4_000)
        a = app.join("a", filler=100)
        app.wait_until_done()
        a.close()
        files = sorted((app.task_dir("a", 1) / "store").glob("*.sst"))
        assert files
        for file in files:
            if damage == "a file is gone":
                file.unlink()
                break
            data = bytearray(file.read_bytes())
            for place in range(0, len(data) // 2, 64):  # its data, not the index at its end
                data[place] ^= 0xFF
            file.write_bytes(data)
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_done()
        (line,) = a.logged("restored from the beginning")
        assert "count_1" in line
        a.close()
        app.assert_exact()


def test_deleted_records_of_a_changelog(fresh: FreshNames, tmp_path: Path) -> None:
    """A member with the state goes on; a member that restores it logs the loss, and goes on with the rest."""
    with App(fresh, tmp_path, partitions=1) as app:
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_done()
        a.close()
        app.policy("delete")  # no records of a compacted topic can be deleted
        app.admin.delete_records({TopicPartition(app.changelog, 0): 500})
        app.policy("compact")
        app.produce(100)
        a = app.join("a")
        app.wait_until_done()
        assert not a.logged("has lost records")
        a.close()
        shutil.rmtree(tmp_path / "a")
        app.produce(100)
        b = app.join("b")
        app.wait_until_done()
        (line,) = b.logged("has lost records")
        assert "lost records 0 to 499" in line
        b.close()
        (state,) = app.state()
        lost = {offset for offset in range(1_200) if b"r:%d" % offset not in state}
        assert lost
        assert max(lost) < 500


def _fill(app: App, member: Member, partition: int | None = None) -> None:
    """Produce until a member has to flush a store."""
    member.order("limit 1024")
    app.wait_until(lambda: member.of_kind("limited"), "the limit")
    app.produce(6_000, partition=partition)


SMALL_BUFFERS: dict[str, Any] = {"store": {"write_buffer_bytes": 1024 * 1024}}


def test_full_disk_of_an_active_task_ends_the_member(fresh: FreshNames, tmp_path: Path) -> None:
    """It commits its changes in the changelog and ends; another member does the rest."""
    with App(fresh, tmp_path, **SMALL_BUFFERS) as app:
        a = app.join("a", filler=1_000)
        app.wait_until_all_are_ready(a)
        app.produce(100)
        app.wait_until_done()
        _fill(app, a)
        assert a.wait() == 3
        (raised,) = a.of_kind("raised")
        assert raised["type"] == "StateFullError"
        assert "free some space" in raised["message"]
        b = app.join("b")
        app.wait_until_done()
        b.close()
        app.assert_exact()


@pytest.mark.long
def test_full_disk_of_a_standby_is_logged_and_retried(fresh: FreshNames, tmp_path: Path) -> None:
    """It logs the failure and tries again; its own tasks, and the other member, go on."""
    with App(fresh, tmp_path, partitions=2, num_standby_replicas=1, **SMALL_BUFFERS) as app:
        a = app.join("a", filler=1_000)
        app.wait_until_all_are_ready(a)
        b = app.join("b", filler=1_000)
        app.wait_until(lambda: b.ready, "both to have a task")
        app.wait_until_all_are_ready(a, b)
        (theirs,) = a.ready
        _fill(app, b, partition=theirs)
        app.wait_until(lambda: b.logged("cannot be used: no room"), "the standby to be given up")
        app.wait_until_done()
        app.produce(10)
        app.wait_until_done()
        b.close()  # it would have no room for the other task
        a.close()
        app.assert_exact()


def test_error_of_the_callback_ends_the_member(fresh: FreshNames, tmp_path: Path) -> None:
    """The record's changes are dropped; work before it is committed, and nothing past it."""
    with App(fresh, tmp_path, partitions=2) as app:
        app.produce(1_000)
        a = app.join("a")
        app.wait_until_done()
        app.produce(1, value=POISON, partition=1)
        app.produce(100)
        assert a.wait() == 3
        (raised,) = a.of_kind("raised")
        assert raised == {**raised, "type": "ValueError", "message": "record 500 is poison"}
        assert app.committed()[1] == 500
        state = app.state()
        assert b"r:500" not in state[1]
        assert sum(int(v) for k, v in state[1].items() if k.startswith(b"n:")) == 500
        assert app.committed()[0] == sum(int(v) for k, v in state[0].items() if k.startswith(b"n:"))


def test_static_member_whose_id_is_taken_ends_and_the_new_one_goes_on(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """The broker assigns its tasks to the new one at once; its changes in memory are never written."""
    static: dict[str, Any] = {"group_instance_id": "one", "heartbeat_interval_ms": 1_000}
    with App(fresh, tmp_path, commit_interval_ms=500) as app:
        a = app.join("a", delay_s=0.002, **static)
        app.wait_until_all_are_ready(a)
        app.produce(4_000)
        app.wait_until(lambda: sum(app.committed().values()) > 200, "it to be in the middle of it")
        b = app.join("b", **static)
        assert a.wait() == 3
        (raised,) = a.of_kind("raised")
        assert raised["type"] == "FencedInstanceIdError"
        assert "another consumer joined with our group_instance_id" in raised["message"]
        assert not app.done(), "it was done before it was fenced"
        app.wait_until_done()
        assert b.state["restored"] > 0
        app.produce(1_000)
        app.wait_until_done()
        b.close()
        # Records in its changelog that it could not commit are processed again.
        assert app.doubles().total() <= 600


def test_restarted_static_member_continues_with_its_own_state(fresh: FreshNames, tmp_path: Path) -> None:
    """Without a rebalance, because the group did not notice."""
    static: dict[str, Any] = {"group_instance_id": "one", "session_timeout_ms": 60_000}  # it is back by then
    with App(fresh, tmp_path) as app:
        a = app.join("a", **static)
        app.produce(1_000)
        app.wait_until_done()
        generation = a.state["generation"]
        a.close()
        again = app.join("a", **static)
        app.produce(1_000)
        app.wait_until_done()
        assert (again.state["generation"], again.state["restored"]) == (generation, 0)
        again.close()
        app.assert_exact()


def test_directory_in_use_is_refused(fresh: FreshNames, tmp_path: Path) -> None:
    """The second process names the first, which goes on."""
    with App(fresh, tmp_path) as app:
        a = app.join("a")
        app.wait_until_all_are_ready(a)
        second = app.join("a")
        assert second.wait() == 3
        (raised,) = second.of_kind("raised")
        assert raised["type"] == "StateLockedError"
        app.produce(100)
        app.wait_until_done()
        a.close()
        app.assert_exact()
