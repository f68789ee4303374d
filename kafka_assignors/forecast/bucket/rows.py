"""Steps and rows of the load table as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from kafka_assignors.forecast.bucket.table import Bools, Floats, Ints
from kafka_assignors.forecast.steps import LoadStep, Quality

MISSING = int(np.iinfo(np.int64).min)
"""Stands for None in a column of integers."""

QUALITIES: tuple[Quality, ...] = get_args(Quality)
OK, INTERPOLATED = QUALITIES.index("ok"), QUALITIES.index("interpolated")


class DoneSteps(NamedTuple):
    """The fields of many `LoadStep`s, as columns.  ``MISSING`` stands for None."""

    row: Ints  # of the partition in the bucket
    at: Ints
    arrived: Ints
    served: Ints
    lag: Ints
    time_lag: Ints
    quality: Ints  # index of ``QUALITIES``
    end_known: Bools
    steps: Ints

    @staticmethod
    def of(done: Iterable[tuple[int, LoadStep]]) -> DoneSteps:
        """Convert pairs of a partition's row in the bucket and one of its steps."""
        values = [
            (row, step.at, *(MISSING if n is None else n for n in step[1:5]), QUALITIES.index(step.quality),
             step.end_known, step.steps)
            for row, step in done
        ]  # fmt: skip
        columns = np.array(values, np.int64).reshape(-1, len(DoneSteps._fields)).T
        return DoneSteps(*columns)._replace(end_known=columns[7].astype(np.bool_))

    def where(self, chosen: Any) -> DoneSteps:
        """Return the chosen steps."""
        columns: list[Any] = [column[chosen] for column in self]
        return DoneSteps(*columns)

    @staticmethod
    def in_order(several: Sequence[DoneSteps]) -> DoneSteps:
        """Join steps in the order of their ends, then of partitions."""
        columns: list[Any] = [np.concatenate(column) for column in zip(*several, strict=True)]
        return DoneSteps(*columns).where(np.lexsort((columns[0], columns[1])))


class LoadRows(NamedTuple):
    """Rows of the load table, as columns.  ``MISSING`` and NaN stand for None."""

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
        return LoadRows(*(np.concatenate(columns) for columns in zip(*several, strict=True)))
