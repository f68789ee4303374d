"""Types of the planners' arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.int64]
"""Whole numbers, shape (n,)."""

Matrix = npt.NDArray[np.int64]
"""Whole numbers, shape (rows, columns)."""

Mask = npt.NDArray[np.bool_]
"""Yes or no, of any shape."""
