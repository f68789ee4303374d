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
from kafka_assignors.broker.supervised import Spec, Supervised
from kafka_assignors.errors import BrokerError
from tests.support.waiting import alive, until


@pytest.fixture(autouse=True)
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "broker.json"


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
    running = DevelopmentBroker(Supervised(spec, os.environ), port=1234, backend="jars", root=scratch)
    yield running
    running.stop()


def test_nothing_runs_at_first() -> None:
    assert state.load() is None
    assert state.stop() is None


def test_what_is_remembered_is_loaded(broker: DevelopmentBroker) -> None:
    running = state.remember(broker, temporary=True)
    assert state.load() == running
    assert running.bootstrap == "127.0.0.1:1234"


def test_stop_ends_it_and_forgets_it(broker: DevelopmentBroker, note: Path) -> None:
    running = state.remember(broker, temporary=True)
    assert state.stop() == running
    assert not broker.running
    assert not broker.data_dir.exists()
    assert not note.exists()
    assert state.stop() is None


def test_one_that_died_is_forgotten_and_tidied_up(broker: DevelopmentBroker, note: Path) -> None:
    state.remember(broker, temporary=True)
    process = psutil.Process(broker.pid)
    process.kill()
    until(lambda: not alive(process), "the supervisor to die")
    assert state.load() is None
    assert note.exists()  # to look is not to tidy up
    assert state.settle() is None
    assert not note.exists()
    assert not broker.data_dir.exists()


def test_a_directory_of_the_users_own_stays(broker: DevelopmentBroker) -> None:
    state.remember(broker, temporary=False)
    process = psutil.Process(broker.pid)
    process.kill()
    until(lambda: not alive(process), "the supervisor to die")
    assert state.settle() is None
    assert broker.data_dir.exists()


def test_a_later_process_with_the_same_pid_is_left_alone(broker: DevelopmentBroker, note: Path) -> None:
    state.remember(broker, temporary=False)
    fields = json.loads(note.read_text())
    note.write_text(json.dumps({**fields, "created": fields["created"] - 60}))
    assert state.stop() is None
    assert broker.running


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": 1}', '{"pid": "x"}', "null", "\x00"])
def test_a_note_that_cannot_be_read_says_nothing_runs(note: Path, text: str) -> None:
    note.write_text(text)
    assert state.load() is None
    assert state.settle() is None
    assert not note.exists()


def test_forgetting_one_broker_spares_the_note_of_another(broker: DevelopmentBroker, note: Path) -> None:
    state.remember(broker, temporary=True)
    state.forget(broker.pid + 1)
    assert note.exists()
    state.forget(broker.pid)
    assert not note.exists()


def test_a_second_start_waits_for_the_first(note: Path) -> None:
    with note.with_name("broker.lock").open("a") as other:
        with state.only_one(), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_one_who_only_looks_does_not_wait() -> None:
    with state.only_one() as first, state.only_one(wait=False) as second:
        assert (first, second) == (True, False)
    with state.only_one(wait=False) as alone:
        assert alone


def test_the_note_of_a_broker_started_meanwhile_is_spared(
    broker: DevelopmentBroker, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = state.remember(broker, temporary=False)
    other = json.dumps({**asdict(dead), "pid": dead.pid + 1})

    def started_meanwhile(_: state.Running) -> None:
        note.write_text(other)

    monkeypatch.setattr(state, "_supervisor", started_meanwhile)
    assert state.settle() is None
    assert note.read_text() == other


def test_a_state_directory_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, note: Path) -> None:
    note.write_text("a file")
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(note / "below"))
    with pytest.raises(BrokerError, match="KAFKA_ASSIGNORS_STATE"), state.only_one():
        pass
