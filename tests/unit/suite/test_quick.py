"""`make test` runs the chosen parameters."""

from __future__ import annotations

import pytest

from tests.support.quick import long, quick


def test_chosen_parameters_are_quick() -> None:
    assert quick("ab", "b") == [long("a"), "b"]


def test_chosen_parameter_that_is_not_listed_is_refused() -> None:
    with pytest.raises(AssertionError, match="c"):
        quick("ab", "b", "c")
