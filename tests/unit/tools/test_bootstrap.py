"""`tools/bootstrap.py` finds tools whatever they print on stderr, and shows why a step failed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.support.examples import ROOT

Script = Callable[[str, str], str]


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Load the file; its repository is a folder without environments."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "tools" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Script:
    """Write a shell script into the only folder of PATH; return its path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(sys, "executable", "")

    def write(name: str, text: str) -> str:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
        return str(folder / name)

    return write


# --- what the machine has -------------------------------------------------------------------------------


def test_python_that_writes_to_stderr_is_found(bootstrap: ModuleType, script: Script) -> None:
    path = script("python3.12", "echo 'ld.so: cannot be preloaded' >&2; echo 3 12")
    assert bootstrap.interpreters() == {12: path}


def test_java_that_writes_its_version_to_stderr_is_found(bootstrap: ModuleType, script: Script) -> None:
    assert not bootstrap.has_java()
    script("java", """echo 'openjdk version "17.0.1"' >&2""")
    assert bootstrap.has_java()


# --- steps ----------------------------------------------------------------------------------------------


def test_failed_environment_shows_the_output_of_venv(
    bootstrap: ModuleType,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    python = script("python3.12", "echo 'Error: it contains the PATH separator :.'; exit 1")
    monkeypatch.setattr(bootstrap, "python", lambda: python)
    with pytest.raises(SystemExit) as caught:
        bootstrap.install(".venv", ["x"])
    assert "PATH separator" in capsys.readouterr().out
    assert "PIP_INDEX_URL" not in str(caught.value)


def test_folder_of_an_interrupted_run_is_named(bootstrap: ModuleType, script: Script, tmp_path: Path) -> None:
    script("python3.12", "echo 3 12")
    (tmp_path / ".venv").mkdir()
    with pytest.raises(SystemExit, match=r"\.venv exists.*interrupted run: remove it"):
        bootstrap.install(".venv", ["x"])


def test_failed_apt_get_does_not_blame_the_package_index(bootstrap: ModuleType, script: Script) -> None:
    with pytest.raises(SystemExit) as caught:
        bootstrap.step("package lists", [script("apt-get", "exit 1")])
    assert "package lists failed, see above" in str(caught.value)
    assert "PIP_INDEX_URL" not in str(caught.value)


def test_interrupted_step_ends_its_printer(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Iterator[bytes]:
        yield b"working\n"
        raise KeyboardInterrupt

    @contextmanager
    def started(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(stdout=interrupted())

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(KeyboardInterrupt):
        bootstrap.step("working", ["x"])
    assert not [thread for thread in threading.enumerate() if "(show)" in thread.name]


# --- the browser ----------------------------------------------------------------------------------------


def test_browsers_are_those_that_the_tests_look_for(bootstrap: ModuleType) -> None:
    text = (ROOT / "tests" / "integration" / "demo" / "browser.py").read_text(encoding="utf-8")
    names = ", ".join(f'"{name}"' for name in bootstrap.BROWSERS)
    assert f"\nBROWSERS = ({names})\n" in text


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ([], True),
        (["-e", "live"], True),
        (["-e", "types,spark-all"], True),
        (["-e", "spark"], False),
        (["-e", "lint"], False),
    ],
)
def test_only_environments_that_open_a_browser_need_one(
    bootstrap: ModuleType,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    *,
    needed: bool,
) -> None:
    monkeypatch.delenv("KAFKA_ASSIGNORS_CHROMIUM", raising=False)
    monkeypatch.setattr(bootstrap, "MAC_BROWSERS", ())
    if needed:
        with pytest.raises(SystemExit, match="no Chromium"):
            bootstrap.need_browser(arguments)
    else:
        bootstrap.need_browser(arguments)
