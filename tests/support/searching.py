"""How much of a random search runs in `make test`, and how much only in `make test-all`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings


def times(share: float) -> int:
    """Return ``share`` times the examples of the profile in force, and at least one.

    pytest loads the profile before it imports test modules, so this is right in a decorator.
    """
    return max(1, round(share * settings().max_examples))


def batches(total: int, size: int, *, quick: int = 1) -> list[Any]:
    """Cut the seeds ``0 .. total - 1`` into batches, one a test; those after the first ``quick`` are long."""
    starts = range(0, total, size)
    return [
        pytest.param(
            range(i, min(i + size, total)), id=f"{i}-", marks=[pytest.mark.long] if n >= quick else []
        )
        for n, i in enumerate(starts)
    ]
