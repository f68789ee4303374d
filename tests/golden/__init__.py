"""Bytes and plans of other clients; see the README in this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    """Load ``name``.json."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def java_sources(*names: str) -> list[Path]:
    """Return the paths of Java programs in this folder."""
    return [Path(__file__).parent / "java" / f"{name}.java" for name in names]
