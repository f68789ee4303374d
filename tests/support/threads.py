"""A process at its limit of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

_ERROR = "can't start new thread"


@contextmanager
def thread_limit_reached() -> Iterator[None]:
    """Let no thread start, and expect the block to raise the error of the first one."""
    refused = patch.object(threading.Thread, "start", side_effect=RuntimeError(_ERROR))
    with refused, pytest.raises(RuntimeError, match=_ERROR):
        yield
