"""The history of a group from rows in memory, as ``pipeline.history`` makes it with Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.pipeline.backtest.history_shape import HistoryShape, LoadColumns, Span, shape_of
from kafka_assignors.pipeline.backtest.recorded import Recorded, RecordedBuilder

Rows = dict[str, npt.NDArray[Any]]
"""Columns of the load table, at least those of a history; ``time`` in microseconds."""


def shaped(rows: Rows) -> tuple[HistoryShape, LoadColumns]:
    """Return the shape of group ``g``, and its rows by index of partition."""
    horizons = np.where(np.isnan(rows["forecast"]) | ~(rows["horizon_s"] > 0), 0.0, rows["horizon_s"])
    spans = []
    for topic, horizon_s in sorted(set(zip(rows["topic"], horizons.tolist(), strict=True))):
        of_span = (rows["topic"] == topic) & (horizons == horizon_s)
        times, lengths_s, partitions = (
            (rows[name][of_span].min().item(), rows[name][of_span].max().item())
            for name in ("time", "step_s", "partition")
        )
        spans.append(Span(topic, horizon_s or None, times, lengths_s, partitions, int(of_span.sum())))
    shape = shape_of("g", spans)
    starts = np.array([shape.starts[topic] for topic in rows["topic"]])
    numbers = {name: rows[name] for name in ("time", "arrived", "served", "lag", "forecast", "horizon_s")}
    return shape, LoadColumns(index=starts + rows["partition"], **numbers)


def assembled(rows: Rows, *, recorded_members: int | None = None) -> Recorded:
    """Return the history of group ``g``, of one part."""
    shape, columns = shaped(rows)
    builder = RecordedBuilder(shape, np.empty)
    builder.add(columns, 0, shape.partitions)
    return builder.recorded(recorded_members)
