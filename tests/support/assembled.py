"""The history of a group from rows in memory, as ``pipeline.history`` makes it with Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_assignors.pipeline.backtest.frame import Frame, LoadColumns, frame_of
from kafka_assignors.pipeline.backtest.recorded import Recorded, RecordedBuilder, in_memory

Rows = dict[str, npt.NDArray[Any]]
"""Columns of the load table, at least those of a history; ``time`` in microseconds."""


def framed(rows: Rows) -> tuple[Frame, LoadColumns]:
    """Return the frame of group ``g``, and its rows by index of partition."""
    known = ~np.isnan(rows["forecast"]) & (rows["horizon_s"] > 0)
    horizons, often = np.unique(rows["horizon_s"][known], return_counts=True)
    frame = frame_of(
        "g",
        times=(int(rows["time"].min()), int(rows["time"].max())),
        lengths_s=(float(rows["step_s"].min()), float(rows["step_s"].max())),
        lowest_partition=int(rows["partition"].min()),
        topics={
            topic: int(rows["partition"][rows["topic"] == topic].max()) + 1 for topic in set(rows["topic"])
        },
        horizon_s=float(horizons[np.argmax(often)]) if horizons.size else None,
    )
    starts = np.array([frame.starts[topic] for topic in rows["topic"]])
    numbers = {name: rows[name] for name in ("time", "arrived", "served", "lag", "forecast", "horizon_s")}
    return frame, LoadColumns(index=starts + rows["partition"], **numbers)


def assembled(rows: Rows, *, recorded_members: int | None = None) -> Recorded:
    """Return the history of group ``g``, of one part."""
    frame, columns = framed(rows)
    builder = RecordedBuilder(frame, in_memory)
    builder.add(columns, 0, frame.partitions)
    return builder.recorded(recorded_members)
