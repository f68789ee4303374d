"""Load tables made by hand, as the pipeline lays them out, written without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2026, 11, 22, 10, 0, tzinfo=timezone.utc)

SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("step_s", pa.float64(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("arrived", pa.int64()),
        pa.field("served", pa.int64()),
        pa.field("arrival_rate", pa.float64()),
        pa.field("service_rate", pa.float64()),
        pa.field("lag", pa.int64()),
        pa.field("time_lag_s", pa.float64()),
        pa.field("level", pa.float64()),
        pa.field("trend", pa.float64()),
        pa.field("season", pa.float64()),
        pa.field("horizon_s", pa.float64(), nullable=False),
        pa.field("forecast", pa.float64()),
        pa.field("forecast_error", pa.float64()),
        pa.field("quality", pa.string(), nullable=False),
    ]
)
"""The columns of ``LOAD`` without the date, which the folders' names have."""


@dataclass(frozen=True)
class Cell:
    """A step of a partition.  ``step`` starts at 0; ``row`` stamps the step's end time."""

    step: int
    topic: str
    partition: int
    arrived: int | None
    served: int | None
    lag: int | None
    forecast: float | None = None


def row(cell: Cell, group: str = "g", step_s: float = 10.0, start: datetime = START) -> dict[str, Any]:
    """The row of a cell, with all columns."""
    return {
        "time": start + timedelta(seconds=step_s * (cell.step + 1)),
        "step_s": step_s,
        "group": group,
        "topic": cell.topic,
        "partition": cell.partition,
        "arrived": cell.arrived,
        "served": cell.served,
        "arrival_rate": None if cell.arrived is None else cell.arrived / step_s,
        "service_rate": None if cell.served is None else cell.served / step_s,
        "lag": cell.lag,
        "time_lag_s": None,
        "level": None,
        "trend": None,
        "season": None,
        "horizon_s": 60.0,
        "forecast": cell.forecast,
        "forecast_error": None,
        "quality": "gap" if cell.arrived is None else "ok",
    }


def write_load(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows under ``folder/load``, a file for each date."""
    for date in sorted({load_row["time"].astimezone(timezone.utc).date() for load_row in rows}):
        day = folder / "load" / f"date={date}"
        day.mkdir(parents=True, exist_ok=True)
        of_day = [load_row for load_row in rows if load_row["time"].astimezone(timezone.utc).date() == date]
        pq.write_table(pa.Table.from_pylist(of_day, SCHEMA), day / "part-0.parquet")


def busy_group(
    group: str = "g", *, steps: int = 60, partitions: int = 6, step_s: float = 10.0, forecasts: bool = True
) -> list[dict[str, Any]]:
    """Return a group with an uneven load.

    It is busy from 1/3 to 1/2 of the steps, and lags until about 2/3.
    Partition ``p`` gets ``20 * (p + 1)`` records a step, three times that in the busy part, and the group
    reads twice the quiet load at most.
    """
    rows = []
    lag = np.zeros(partitions, np.int64)
    for step in range(steps):
        busy = 3 if steps // 3 <= step < steps // 2 else 1
        arrived = 20 * busy * (np.arange(partitions) + 1)
        served = np.minimum(lag + arrived, 40 * (np.arange(partitions) + 1))
        lag = lag + arrived - served
        rows += [
            row(
                Cell(
                    step,
                    "orders",
                    p,
                    int(arrived[p]),
                    int(served[p]),
                    int(lag[p]),
                    float(6 * arrived[p]) if forecasts else None,
                ),
                group,
                step_s,
            )
            for p in range(partitions)
        ]
    return rows
