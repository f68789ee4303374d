"""How much is left to read: the arithmetic (pure), and asking the cluster for what it needs."""

from __future__ import annotations

from kafka_assignors.lag.arithmetic import Reset, lag
from kafka_assignors.lag.fetch import LagFetcher
from kafka_assignors.lag.reading import Offsets, Reading

__all__ = ["LagFetcher", "Offsets", "Reading", "Reset", "lag"]
