"""Types of the planners' arrays, and counts of pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.int64]
"""Whole numbers, shape (n,)."""

Matrix = npt.NDArray[np.int64]
"""Whole numbers, shape (rows, columns)."""

Mask = npt.NDArray[np.bool_]
"""Yes or no, of any shape."""

Integers = npt.NDArray[np.integer]
"""Whole numbers of any width, shape (n,)."""


def count_pairs(rows: Integers, columns: Integers, shape: tuple[int, int]) -> Matrix:
    """Return how often each pair of a row and a column occurs, as a matrix of this shape."""
    cells = rows.astype(np.int64, copy=False) * shape[1] + columns
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
