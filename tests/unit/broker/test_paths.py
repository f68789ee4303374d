from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_assignors.broker.paths import cache_dir, locked_file, state_dir

OURS = {"KAFKA_ASSIGNORS_CACHE": "/own", "KAFKA_ASSIGNORS_STATE": "/our-state"}
XDG = {"XDG_CACHE_HOME": "/xdg", "XDG_STATE_HOME": "/state"}


@pytest.mark.parametrize(
    ("environment", "cache", "state"),
    [
        (OURS | XDG, "/own", "/our-state"),
        (XDG, "/xdg/kafka-assignors", "/state/kafka-assignors"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/kafka-assignors", "~/.local/state/kafka-assignors"),
        ({}, "~/.cache/kafka-assignors", "~/.local/state/kafka-assignors"),
    ],
    ids=["own variables", "XDG", "a relative path is ignored", "home"],
)
def test_directories(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], cache: str, state: str
) -> None:
    for name in OURS | XDG:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (cache_dir(), state_dir()) == (Path(cache).expanduser(), Path(state).expanduser())


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
