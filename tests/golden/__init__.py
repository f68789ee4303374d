"""Bytes and plans taken from other clients; see the README beside this."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    """The data of ``name``.json."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def java_sources(*names: str) -> list[Path]:
    """The Java programs beside this."""
    return [Path(__file__).parent / "java" / f"{name}.java" for name in names]
