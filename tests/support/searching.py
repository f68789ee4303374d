"""Sizes of random searches: a part runs in `make test`, the rest only in `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings


def times(share: float) -> int:
    """Return ``share`` times the examples of the current profile, at least one.

    Works in a decorator, because pytest loads the profile before it imports test modules.
    """
    return max(1, round(share * settings().max_examples))


def batches(total: int, size: int, *, quick: int = 1) -> list[Any]:
    """Cut the seeds ``0 .. total - 1`` into batches, one for each test; all but ``quick`` are long."""
    starts = range(0, total, size)
    return [
        pytest.param(
            range(i, min(i + size, total)), id=f"{i}-", marks=[pytest.mark.long] if n >= quick else []
        )
        for n, i in enumerate(starts)
    ]
