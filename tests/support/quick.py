"""Parameters of tests of which `make test` runs only some."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def long(*values: object, id: str | None = None) -> ParameterSet:
    """Make a parameter that only `make test-all` runs."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)


def quick(values: Iterable[object], *chosen: object) -> list[object]:
    """List parameters; `make test` runs the chosen ones only."""
    values = list(values)
    assert not (unlisted := [value for value in chosen if value not in values]), unlisted
    return [value if value in chosen else long(value) for value in values]
