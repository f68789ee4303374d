"""``StateDir``: one owner, nothing lost, nothing kept forever."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from pathlib import Path
from uuid import UUID

import pytest

from kafka_assignors.errors import (
    OptionError,
    StateClosedError,
    StateDeniedError,
    StateError,
    StateFullError,
    StateLockedError,
)
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Damaged, Position, StateDir
from kafka_assignors.stateful.state import state_dir
from tests.support.clock import Clock
from tests.support.waiting import until
from tests.unit.stateful.processes import program, run

SINCE_1970 = 2_000_000_000.0
AT = {TopicPartition("app-count-changelog", 3): Position(7)}
HOLDER = """
import sys
from kafka_assignors.stateful import StateDir
with StateDir(sys.argv[1], "app") as state:
    print(state.process_id, flush=True)
    sys.stdin.read()
"""


def _aside(state: StateDir) -> list[str]:
    return [entry.name for entry in state.path.iterdir() if entry.name.startswith("%")]


def test_layout_of_the_state_directory(tmp_path: Path) -> None:
    with StateDir(tmp_path / "deep" / "state", "app") as state, state.claim(("count", 3)) as mine:
        mine.write_checkpoint(AT)
        assert mine.path == tmp_path / "deep" / "state" / "app" / "count_3"
        assert mine.store_path == mine.path / "store"
        assert mine.read_checkpoint() == AT
    app = tmp_path / "deep" / "state" / "app"
    assert sorted(entry.name for entry in app.iterdir() if entry.name != "lock") == ["count_3", "process"]
    assert app.stat().st_mode & 0o777 == 0o700


def test_process_id_outlives_the_process(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app") as state:
        first = state.process_id
    with StateDir(tmp_path, "app") as state:
        assert state.process_id == first
    with StateDir(tmp_path, "other") as other:
        assert other.process_id != first


@pytest.mark.parametrize("text", ["", "junk", "[]", '{"process_id": 7}', '{"process_id": "x"}', "\ufeff{}"])
def test_unreadable_process_id_is_replaced(text: str, tmp_path: Path) -> None:
    with StateDir(tmp_path, "app"):
        (tmp_path / "app" / "process").write_text(text)
    with StateDir(tmp_path, "app") as state:
        content = json.loads((tmp_path / "app" / "process").read_text())
        assert content == {"version": 1, "process_id": str(state.process_id), "pid": os.getpid()}


def test_tasks_are_listed_without_opening_their_stores(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app") as state:
        for task in (("count", 3), ("a.b_c-d", 0), ("new", 1), ("bad", 2)):
            state.claim(task).release()
        with state.claim(("count", 3)) as mine:
            mine.write_checkpoint(AT)
        (tmp_path / "app" / "bad_2" / "checkpoint").write_bytes(b"junk")
        for name in ("no-task", "other_03", "count_x", "_3", "count_٣"):
            (tmp_path / "app" / name).mkdir()
        (tmp_path / "app" / "file_7").touch()
        checkpoints = state.tasks()
    assert [*checkpoints] == [("a.b_c-d", 0), ("bad", 2), ("count", 3), ("new", 1)]
    assert checkpoints["count", 3] == AT
    assert checkpoints["new", 1] is None
    assert isinstance(checkpoints["bad", 2], Damaged)


def test_file_name_that_is_no_text_is_no_task(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app") as state:
        (state.path / os.fsdecode(b"\xff_3")).mkdir()
        assert state.tasks() == {}


@pytest.mark.parametrize("name", ["a/b", "..", ".", "%removed-1", "ä b", "x_1", "C:\\x", "a\0b"])
def test_any_name_stays_inside_the_directory(name: str, tmp_path: Path) -> None:
    with StateDir(tmp_path / "in", name) as state:
        state.claim((name, 5)).release()
        assert [*state.tasks()] == [(name, 5)]
        assert state.path.resolve().parent == (tmp_path / "in").resolve()
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]
    with StateDir(tmp_path / "in", name) as again:
        assert [*again.tasks()] == [(name, 5)]


def test_empty_application_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="application"):
        StateDir(tmp_path, "")


# --- one owner


def test_second_process_gets_the_pid_of_the_holder_until_that_is_killed(tmp_path: Path) -> None:
    with program(HOLDER, tmp_path) as holder:
        assert holder.stdout is not None
        process_id = holder.stdout.readline().strip()
        with pytest.raises(StateLockedError, match=f"in use by process {holder.pid}; give each consumer"):
            StateDir(tmp_path, "app")
        StateDir(tmp_path, "another").close()
        holder.kill()
        holder.wait()
    with StateDir(tmp_path, "app") as state:
        assert state.process_id == UUID(process_id)


def test_two_consumers_of_a_process_cannot_share_a_directory(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app"), pytest.raises(StateLockedError, match=f"process {os.getpid()}"):
        StateDir(tmp_path, "app")
    StateDir(tmp_path, "app").close()


def test_task_is_claimed_once(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app") as state:
        mine = state.claim(("count", 3))
        with pytest.raises(StateLockedError, match="count_3 is in use in this process"):
            state.claim(("count", 3))
        mine.release()
        again = state.claim(("count", 3))
        mine.release()  # no effect on the new claim
        with pytest.raises(StateLockedError):
            state.claim(("count", 3))
        again.release()


def test_closed_directory_raises(tmp_path: Path) -> None:
    state = StateDir(tmp_path, "app")
    state.claim(("count", 3))
    state.close()
    state.close()
    with pytest.raises(StateClosedError):
        state.claim(("count", 4))
    with pytest.raises(StateClosedError):
        state.tasks()


# --- nothing kept forever


def test_wiped_task_has_an_empty_directory(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app") as state, state.claim(("count", 3)) as mine:
        mine.write_checkpoint(AT)
        mine.store_path.mkdir()
        mine.wipe()
        assert mine.read_checkpoint() is None
        assert list(mine.path.iterdir()) == []
        mine.write_checkpoint(AT)
        assert _aside(state) == []


def test_failed_wipe_leaves_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a checkpoint, a later start would use the state that was to be wiped."""

    def rename(path: Path, target: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with StateDir(tmp_path, "app") as state, state.claim(("count", 3)) as mine:
        mine.write_checkpoint(AT)
        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(StateError, match="Device or resource busy"):
            mine.wipe()
        assert state.tasks() == {("count", 3): None}


def test_failed_cleaning_keeps_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The group still counts on it."""

    def sync_dir(path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with StateDir(tmp_path, "app") as state:
        with state.claim(("count", 3)) as mine:
            mine.write_checkpoint(AT)
        monkeypatch.setattr(state_dir, "sync_dir", sync_dir)
        assert state.clean(0) == []
        assert "task count_3: state could not be deleted" in caplog.text
        assert state.tasks() == {("count", 3): AT}
        assert _aside(state) == []


def test_next_start_finishes_deletions_after_a_crash(tmp_path: Path) -> None:
    with StateDir(tmp_path, "app"):
        left = tmp_path / "app" / "%removed-1"
        (left / "store").mkdir(parents=True)
    with StateDir(tmp_path, "app") as state:
        assert state.tasks() == {}
        until(lambda: not left.exists())


def test_cleaned_state_is_deleted_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is renamed at once; deletions still queued at the end wait for the next start."""
    begun, go_on = threading.Event(), threading.Event()
    really = shutil.rmtree

    def rmtree(path: Path) -> None:
        begun.set()
        assert go_on.wait(60)
        really(path)

    clock = Clock(SINCE_1970)
    state = StateDir(tmp_path, "app", clock=clock)
    for number in (0, 1):
        state.claim(("count", number)).release()
    clock.now += 10
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    assert state.clean(10) == [("count", 0), ("count", 1)]
    assert state.tasks() == {}
    assert begun.wait(60)
    assert len(_aside(state)) == 2
    closing = threading.Thread(target=state.close)
    closing.start()
    until(lambda: state._deleter._stopped)  # otherwise the second deletion may run, too
    go_on.set()
    closing.join()
    assert len(_aside(state)) == 1
    with StateDir(tmp_path, "app") as again:
        until(lambda: not _aside(again))


def test_close_waits_for_a_deletion_only_for_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def rmtree(_path: Path) -> None:
        begun.set()
        go_on.wait(60)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    state = StateDir(tmp_path, "app")
    state.claim(("count", 0)).release()
    assert state.clean(0) == [("count", 0)]
    assert begun.wait(60)  # otherwise `close` may cancel it
    state.close(timeout_s=0.01)
    assert not state._deleter.join(0)
    StateDir(tmp_path, "app").close(timeout_s=0.01)  # it is unlocked
    go_on.set()


def test_deletion_whose_thread_cannot_start_is_left_to_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have as many threads as it is allowed."""

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    state = StateDir(tmp_path, "app")
    state.claim(("count", 0)).release()
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", start)
        assert state.clean(0) == [("count", 0)]
        state.close()
        StateDir(tmp_path, "app").close()
    assert len(_aside(state)) == 1
    with StateDir(tmp_path, "app") as again:
        until(lambda: not _aside(again))


def test_failed_deletion_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def rmtree(path: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    with StateDir(tmp_path, "app") as state:
        state.claim(("count", 0)).release()
        assert state.clean(0) == [("count", 0)]
        until(lambda: "could not be deleted: Device or resource busy" in caplog.text)


def test_state_of_an_earlier_process_is_idle_only_after_the_delay(tmp_path: Path) -> None:
    """The process was away for a year; it reports that state, and may get the task."""
    clock = Clock(SINCE_1970)
    with StateDir(tmp_path, "app", clock=clock) as state:
        state.claim(("count", 0)).release()
    clock.now += 31_536_000
    with StateDir(tmp_path, "app", clock=clock) as state:
        clock.now += 999
        assert state.idle(1_000) == []
        clock.now += 1
        assert state.idle(1_000) == [("count", 0)]
        assert state.idle(1_000, keep=[("count", 0)]) == []
        assert state.clean(1_000, among=[("count", 1)]) == []
        assert state.clean(1_000, among=[("count", 0)]) == [("count", 0)]


def test_age_of_a_checkpoint_ends_with_its_confirmation(tmp_path: Path) -> None:
    clock = Clock(SINCE_1970)
    with StateDir(tmp_path, "app", clock=clock) as state, state.claim(("count", 3)) as mine:
        assert state.unconfirmed_s(("count", 3)) == 0, "there is none"
        mine.write_checkpoint(AT)
        file = mine.path / "checkpoint"
        os.utime(file, (clock.now - 50, clock.now - 50))
        assert state.unconfirmed_s(("count", 3)) == 50
        assert mine.confirm_checkpoint(clock.now - 20)
        assert state.unconfirmed_s(("count", 3)) == 20
        assert mine.read_checkpoint() == AT


def test_unused_state_is_deleted_after_the_delay(tmp_path: Path) -> None:
    clock = Clock(SINCE_1970)
    with StateDir(tmp_path, "app", clock=clock) as state:
        for number in range(4):
            state.claim(("count", number)).release()
        clock.now += 500
        state.claim(("count", 1)).release()  # used once more
        used = state.claim(("count", 2))
        clock.now += 499
        assert state.clean(1_000, keep=[("count", 3)]) == []
        clock.now += 1
        assert state.clean(1_000, keep=[("count", 3)]) == [("count", 0)]
        assert [*state.tasks()] == [("count", 1), ("count", 2), ("count", 3)]
        clock.now += 10_000
        assert state.clean(1_000, keep=[("count", 1), ("count", 3)]) == []
        used.release()
        assert state.clean(1_000) == [("count", 1), ("count", 3)]  # 2 was in use until now
        assert [*state.tasks()] == [("count", 2)]


def test_claim_counts_as_use(tmp_path: Path) -> None:
    """The state of a killed process must not count as older."""
    clock = Clock(SINCE_1970)
    with StateDir(tmp_path, "app", clock=clock) as state:
        clock.now += 777
        assert state.claim(("count", 0)).path.stat().st_mtime == clock.now


def test_clock_that_moves_back_deletes_nothing(tmp_path: Path) -> None:
    clock = Clock(SINCE_1970)
    with StateDir(tmp_path, "app", clock=clock) as state:
        state.claim(("count", 0)).release()
        clock.now -= 1_000_000
        assert state.clean(1) == []


# --- what the system does not let us


def test_impossible_path_is_a_state_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"cannot use .*file.*: Not a directory"):
        StateDir(tmp_path / "file", "app")
    with pytest.raises(StateError, match="File name too long"):
        StateDir(tmp_path, "x" * 300)


FORBIDDEN = """
import os, sys
from kafka_assignors.errors import StateDeniedError
from kafka_assignors.stateful import StateDir
import filelock
if os.geteuid() == 0:  # whom nothing is forbidden
    os.setuid(65534)
try:
    StateDir(sys.argv[1], "app")
except StateDeniedError as error:
    print(error)
"""


def test_forbidden_directory_is_a_state_error(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    (line,) = run(FORBIDDEN, tmp_path / "locked")
    assert line == f"not allowed to use {tmp_path / 'locked' / 'app'}: Permission denied"
    assert issubclass(StateDeniedError, StateError)


FULL = """
import resource, sys
from kafka_assignors.errors import StateFullError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Position, StateDir
with StateDir(sys.argv[1], "app") as state, state.claim(("count", 3)) as mine:
    mine.write_checkpoint({TopicPartition("log", 3): Position(7)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    try:
        mine.write_checkpoint({TopicPartition("l" * 200, 3): Position(8)})
    except StateFullError as error:
        print(error)
    print(mine.read_checkpoint() == {TopicPartition("log", 3): Position(7)})
    print(*sorted(entry.name for entry in mine.path.iterdir()))
"""


def test_full_disk_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    line, kept, there = run(FULL, tmp_path)
    where = tmp_path / "app" / "count_3" / "checkpoint"
    assert line == f"no room for state in {where}: File too large; free some space, then start again"
    assert (kept, there) == ("True", "checkpoint")
    assert issubclass(StateFullError, StateError)
