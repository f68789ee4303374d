"""A process at its limit of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest


@contextmanager
def thread_limit_reached() -> Iterator[None]:
    """Let no thread start, and expect the block to raise the error of the first one."""
    error = RuntimeError("can't start new thread")
    with patch.object(threading.Thread, "start", side_effect=error), pytest.raises(RuntimeError, match="start"):
        yield
