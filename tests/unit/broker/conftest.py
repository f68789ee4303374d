"""The place where the note about a detached broker is kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_ASSIGNORS_STATE", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "broker.json"
