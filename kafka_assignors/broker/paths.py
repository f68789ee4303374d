"""Where files that outlive a process go."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir", "state_dir"]


def _dir(own: str, xdg: str, fallback: str) -> Path:
    # XDG says a relative path in its variables is to be ignored.
    if value := os.environ.get(own):
        return Path(value).expanduser().absolute()
    base = Path(os.environ.get(xdg) or "")
    return (base if base.is_absolute() else Path.home() / fallback) / "kafka-assignors"


def cache_dir() -> Path:
    """What can be fetched again: ``$KAFKA_ASSIGNORS_CACHE``, else the user's XDG cache."""
    return _dir("KAFKA_ASSIGNORS_CACHE", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """What is running now: ``$KAFKA_ASSIGNORS_STATE``, else the user's XDG state directory."""
    return _dir("KAFKA_ASSIGNORS_STATE", "XDG_STATE_HOME", ".local/state")
