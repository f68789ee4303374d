"""Whatever happens to a stateful member, no update that was acknowledged is lost.

What a killed member had written to its changelog, and not committed the offsets of, is done again by the next
one: that is at least once, and these tests count how often.
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

SLOWLY: dict[str, Any] = {"restore_fetch_bytes": 4096, "standby_bytes_per_s": 4096}
"""How fast copies are brought up to date by a member that is to be caught at it."""


def test_kill_in_the_middle_of_processing(fresh: FreshNames, tmp_path: Path) -> None:
    """At the most what lay between two commits is done twice."""
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
        assert app.doubles() <= 600


def test_kill_in_the_middle_of_restoring(fresh: FreshNames, tmp_path: Path) -> None:
    """A copy that is half restored goes on from where it is, or begins anew."""
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


def test_kill_in_the_middle_of_warming_up(fresh: FreshNames, tmp_path: Path) -> None:
    """The group goes on without it; when it comes back it warms up again, and gets its tasks."""
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


def test_a_damaged_checkpoint(fresh: FreshNames, tmp_path: Path) -> None:
    """Nobody knows what the store is of: it is restored from the beginning."""
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
        (said,) = a.logged("restored from the beginning")
        assert "count_1" in said
        assert "changed after it was written" in said
        a.close()
        app.assert_exact()


@pytest.mark.parametrize("damage", ["a file is gone", "bytes are flipped"])
def test_a_damaged_store(fresh: FreshNames, tmp_path: Path, damage: str) -> None:
    """Found when it is opened, or when it is read: then records since the last commit are done again."""
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
        (said,) = a.logged("restored from the beginning")
        assert "count_1" in said
        a.close()
        app.assert_exact()


def test_deleted_records_of_a_changelog(fresh: FreshNames, tmp_path: Path) -> None:
    """Who has the state goes on; who has to restore it says what is lost, and goes on with the rest."""
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
        (said,) = b.logged("has lost records")
        assert "lost records 0 to 499" in said
        b.close()
        (state,) = app.state()
        lost = {offset for offset in range(1_200) if b"r:%d" % offset not in state}
        assert lost
        assert max(lost) < 500


def _fill(app: App, member: Member, partition: int | None = None) -> None:
    """Records until a member had to bring a store to disk."""
    member.order("limit 1024")
    app.wait_until(lambda: member.of_kind("limited"), "the limit")
    app.produce(6_000, partition=partition)


SMALL_BUFFERS: dict[str, Any] = {"store": {"write_buffer_bytes": 1024 * 1024}}


def test_no_room_for_an_active_store(fresh: FreshNames, tmp_path: Path) -> None:
    """It ends, with what is safe in the changelog committed; another one does the rest."""
    with App(fresh, tmp_path, **SMALL_BUFFERS) as app:
        a = app.join("a", filler=1_000)
        app.wait_until_all_are_ready(a)
        app.produce(100)
        app.wait_until_done()
        _fill(app, a)
        assert a.wait() == 3
        (raised,) = a.of_kind("raised")
        assert raised["type"] == "StateFullError"
        assert "make room" in raised["message"]
        b = app.join("b")
        app.wait_until_done()
        b.close()
        app.assert_exact()


def test_no_room_for_a_standby(fresh: FreshNames, tmp_path: Path) -> None:
    """It goes without that copy, says so and tries again; its own tasks, and the other member, go on."""
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


def test_what_the_callback_raises_ends_the_member(fresh: FreshNames, tmp_path: Path) -> None:
    """Nothing of that record is kept, nothing is committed past it, and what was done before is."""
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


def test_a_static_member_whose_id_is_taken_ends_and_the_other_one_goes_on(
    fresh: FreshNames, tmp_path: Path
) -> None:
    """The broker gives its tasks away at once; what it had in memory is written by nobody."""
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
        assert "another consumer has our group_instance_id" in raised["message"]
        assert not app.done(), "it was done before it was fenced"
        app.wait_until_done()
        assert b.state["restored"] > 0
        app.produce(1_000)
        app.wait_until_done()
        b.close()
        # What it had written to its changelog, and could not commit any more, is done again.
        assert app.doubles() <= 600


def test_a_static_member_that_comes_back_goes_on_with_its_own(fresh: FreshNames, tmp_path: Path) -> None:
    """Without a rebalance: the group did not hear that it was gone."""
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


def test_a_directory_in_use_is_refused(fresh: FreshNames, tmp_path: Path) -> None:
    """The second process says who has it; the first goes on."""
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
