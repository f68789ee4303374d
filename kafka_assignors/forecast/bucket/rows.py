"""Rows of the load table as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from kafka_assignors.forecast.bucket.table import Floats, Ints
from kafka_assignors.forecast.fold import LoadRow
from kafka_assignors.forecast.steps import Quality

MISSING = int(np.iinfo(np.int64).min)
"""Stands for None in a column of integers."""

QUALITIES: tuple[str, ...] = get_args(Quality)
OK, INTERPOLATED = QUALITIES.index("ok"), QUALITIES.index("interpolated")


class LoadRows(NamedTuple):
    """The fields of many `LoadRow`s, as columns.  ``MISSING`` and NaN stand for None."""

    row: Ints  # of the partition in the bucket
    at: Ints
    arrived: Ints
    served: Ints
    lag: Ints
    time_lag: Ints
    quality: Ints  # index of ``QUALITIES``
    level: Floats
    trend: Floats
    season: Floats
    arrivals: Floats
    error: Floats

    @staticmethod
    def joined(several: Sequence[LoadRows]) -> LoadRows:
        """Concatenate load rows."""
        if not several:
            return LoadRows.of(())
        return LoadRows(*(np.concatenate(columns) for columns in zip(*several, strict=True)))

    @staticmethod
    def of(rows: Iterable[tuple[int, LoadRow]]) -> LoadRows:
        """Convert pairs of a partition's row in the bucket and one of its load rows."""
        values = [(row, *_values(load_row)) for row, load_row in rows]
        columns: list[Any] = [*zip(*values, strict=True)] or [()] * len(LoadRows._fields)
        kinds = ["i8"] * 7 + ["f8"] * 5
        return LoadRows(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def _values(row: LoadRow) -> tuple[float, ...]:
    step, outlook = row
    counts = (MISSING if n is None else n for n in (step.arrived, step.served, step.lag, step.time_lag))
    forecast = (np.nan,) * 5 if outlook is None else (np.nan if x is None else x for x in outlook)
    return (step.at, *counts, QUALITIES.index(step.quality), *forecast)
