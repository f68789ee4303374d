"""The rows of many partitions as columns."""

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


class Rows(NamedTuple):
    """Steps and forecasts, as in ``LoadRow``: ``MISSING`` and NaN stand for None."""

    row: Ints  # of the partition
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
    def joined(several: Sequence[Rows]) -> Rows:
        """Put the rows of several one after the other."""
        if not several:
            return Rows.of(())
        return Rows(*(np.concatenate(columns) for columns in zip(*several, strict=True)))

    @staticmethod
    def of(rows: Iterable[tuple[int, LoadRow]]) -> Rows:
        """Convert the rows of some partitions."""
        values = [(place, *_values(row)) for place, row in rows]
        columns: list[Any] = [*zip(*values, strict=True)] or [()] * len(Rows._fields)
        kinds = ["i8"] * 7 + ["f8"] * 5
        return Rows(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def _values(row: LoadRow) -> tuple[float, ...]:
    step, outlook = row
    counts = (MISSING if n is None else n for n in (step.arrived, step.served, step.lag, step.time_lag))
    forecast = (np.nan,) * 5 if outlook is None else (np.nan if x is None else x for x in outlook)
    return (step.at, *counts, QUALITIES.index(step.quality), *forecast)
