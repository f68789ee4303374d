"""The note about the detached broker, with a small program in the broker's place."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from kafka_assignors.broker import state
from kafka_assignors.broker.development import DevelopmentBroker
from kafka_assignors.broker.supervised import Spec
from kafka_assignors.errors import BrokerError
from tests.support.waiting import kill, until

pytestmark = pytest.mark.usefixtures("note")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[DevelopmentBroker]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    spec = Spec(
        commands=[[sys.executable, "-c", "import time; time.sleep(600)"]],
        cwd=str(scratch),
        log=str(scratch / "broker.log"),
        scratch=str(scratch),
    )
    running = DevelopmentBroker(spec, os.environ, port=1234, backend="jars")
    until(psutil.Process(running.pid).cmdline, "the kernel to show the arguments")
    yield running
    running.stop()


def test_no_broker_runs_at_first() -> None:
    assert state.load() is None
    assert state.stop() is None


def test_saved_broker_is_loaded(broker: DevelopmentBroker) -> None:
    running = state.save(broker, temporary=True)
    assert state.load() == running
    assert running.bootstrap == "127.0.0.1:1234"


def test_stop_ends_the_broker_and_removes_the_file(broker: DevelopmentBroker, note: Path) -> None:
    running = state.save(broker, temporary=True)
    assert state.stop() == running
    assert not broker.running
    assert not broker.data_dir.exists()
    assert not note.exists()
    assert state.stop() is None


@pytest.mark.parametrize("temporary", [True, False])
def test_dead_broker_is_cleaned_up(
    broker: DevelopmentBroker, note: Path, temporary: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """But a user's own data directory is kept, and the log, which names the cause."""
    data = broker.data_dir / "data"
    data.mkdir()
    broker.log_path.write_text("java.lang.OutOfMemoryError: Java heap space\n")
    state.save(broker, temporary=temporary)
    kill(psutil.Process(broker.pid))
    assert state.load() is None
    assert note.exists()  # to look is not to tidy up
    assert state.recover() is None
    assert not note.exists()
    assert data.exists() is not temporary
    assert broker.log_path.exists()
    [line] = caplog.messages
    assert ("OutOfMemoryError" in line) is temporary, "a kept log may have lines of earlier runs"
    assert line.endswith(f"(log: {broker.log_path})")


def test_directory_that_cannot_be_removed_blocks_no_later_start(
    broker: DevelopmentBroker, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clear(_scratch: Path, _log: Path | None) -> None:
        raise PermissionError(13, "Permission denied")

    state.save(broker, temporary=True)
    kill(psutil.Process(broker.pid))
    monkeypatch.setattr(state, "clear", clear)
    with pytest.raises(PermissionError):
        state.recover()
    assert not note.exists()


def test_file_of_another_version_is_read(broker: DevelopmentBroker, note: Path) -> None:
    """Else the file would be deleted, and ``broker stop`` would not find the broker."""
    running = state.save(broker, temporary=True)
    note.write_text(json.dumps({**asdict(running), "of_another_version": 60.0}))
    assert state.recover() == running
    assert broker.data_dir.exists()


def test_later_process_with_the_same_pid_is_not_the_broker(broker: DevelopmentBroker, note: Path) -> None:
    running = state.save(broker, temporary=False)
    note.write_text(json.dumps({**asdict(running), "pid": os.getpid()}))
    assert state.load() is None
    assert broker.running


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1}', '{"pid": "x"}', "null", "\x00"])
def test_unreadable_state_file_means_no_broker(note: Path, text: str) -> None:
    note.write_text(text)
    assert state.load() is None
    assert state.recover() is None
    assert not note.exists()


def test_delete_keeps_the_file_of_another_broker(broker: DevelopmentBroker, note: Path) -> None:
    state.save(broker, temporary=True)
    state.delete(broker.pid + 1)
    assert note.exists()
    state.delete(broker.pid)
    assert not note.exists()


def test_second_start_waits_for_the_first(note: Path) -> None:
    with note.with_name("broker.lock").open("a") as other:
        with state.locked_state(), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_lock_without_waiting_returns_at_once() -> None:
    with state.locked_state() as first, state.locked_state(wait=False) as second:
        assert (first, second) == (True, False)
    with state.locked_state(wait=False) as alone:
        assert alone


def test_file_of_a_broker_started_meanwhile_is_kept(
    broker: DevelopmentBroker, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = state.save(broker, temporary=False)
    other = json.dumps({**asdict(dead), "pid": dead.pid + 1})

    def started_meanwhile(_: state.Running) -> None:
        note.write_text(other)

    monkeypatch.setattr(state, "_supervisor", started_meanwhile)
    assert state.recover() is None
    assert note.read_text() == other


def test_impossible_state_directory_is_named(monkeypatch: pytest.MonkeyPatch, note: Path) -> None:
    note.write_text("a file")
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(note / "below"))
    with pytest.raises(BrokerError, match="KAFKA_ASSIGNORS_STATE"), state.locked_state():
        pass
