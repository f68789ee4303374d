"""Directories for files that outlive a process."""

from __future__ import annotations

import os
from pathlib import Path


def _dir(own: str, xdg: str, fallback: str) -> Path:
    # The XDG specification ignores relative paths in its variables.
    if value := os.environ.get(own):
        return Path(value).expanduser().absolute()
    base = Path(os.environ.get(xdg) or "")
    return (base if base.is_absolute() else Path.home() / fallback) / "kafka-assignors"


def cache_dir() -> Path:
    """Directory of files that can be fetched again: ``$KAFKA_ASSIGNORS_CACHE``, else the user's XDG cache."""
    return _dir("KAFKA_ASSIGNORS_CACHE", "XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Directory of the running broker's state: ``$KAFKA_ASSIGNORS_STATE``, else the user's XDG state."""
    return _dir("KAFKA_ASSIGNORS_STATE", "XDG_STATE_HOME", ".local/state")
