"""Dates of samples, independent of the session's time zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

_DAY_MS = 86_400_000


def utc_date(time: str) -> Column:
    """Return the UTC date of a timestamp column; Spark's ``to_date`` would take the session's zone."""
    return F.date_from_unix_date(F.floor(F.unix_millis(F.col(time)) / F.lit(_DAY_MS)).cast("int"))
