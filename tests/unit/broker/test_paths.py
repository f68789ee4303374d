from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_assignors.broker.paths import cache_dir, locked_file, state_dir


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAFKA_ASSIGNORS_CACHE", "KAFKA_ASSIGNORS_STATE", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")


def test_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("KAFKA_ASSIGNORS_CACHE", "/own")
    assert cache_dir() == Path("/own")


def test_xdg_variable_comes_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert cache_dir() == Path("/xdg/kafka-assignors")
    assert state_dir() == Path("/state/kafka-assignors")


def test_relative_xdg_variable_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == Path("/home/someone/.cache/kafka-assignors")


def test_home_comes_last() -> None:
    assert cache_dir() == Path("/home/someone/.cache/kafka-assignors")
    assert state_dir() == Path("/home/someone/.local/state/kafka-assignors")


def test_lock_is_released_with_the_last_process_that_inherited_it(tmp_path: Path) -> None:
    """The broker's processes keep its directory locked after the program has ended."""
    file = tmp_path / "lock"
    with locked_file(file, wait=False) as lock:
        assert lock is not None
        command = [sys.executable, "-c", "input()"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[lock])
    with locked_file(file, wait=False) as other:
        assert other is None
    child.communicate(b"\n")
    with locked_file(file, wait=False) as again:
        assert again is not None
