"""Histories whose arrays are in files.  tests/pipeline reads histories with Spark."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from kafka_assignors.pipeline.history import on_disk
from tests.unit.pipeline.backtest.trials import grid, recorded, results, tried


def is_mapped(array: object) -> bool:
    """Return whether an array is a view of a file."""
    while isinstance(array, np.ndarray) and not isinstance(array, np.memmap):
        array = array.base
    return isinstance(array, np.memmap)


def test_arrays_of_a_history_are_read_from_files_as_needed(tmp_path: Path) -> None:
    plain = recorded(forecasts=True)
    moved = on_disk(plain, tmp_path / "0")
    expected = moved.history.expected
    assert expected is not None
    assert is_mapped(moved.history.arrivals)
    assert is_mapped(expected)
    assert not is_mapped(plain.history.arrivals)
    again = pickle.loads(pickle.dumps(moved.history))  # noqa: S301  # our own bytes, as in a broadcast
    for history in (moved.history, again):
        np.testing.assert_array_equal(history.arrivals, plain.history.arrivals)
        np.testing.assert_array_equal(history.expected, plain.history.expected)
    summaries = [results([of], *tried([of], grid())) for of in (plain, moved)]
    assert summaries[0] == summaries[1]
    without = on_disk(recorded(), tmp_path / "1")
    assert without.history.expected is None
    assert is_mapped(without.history.arrivals)
