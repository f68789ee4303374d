"""Consumer lag: arithmetic and decisions (pure), and fetching from the cluster."""

from __future__ import annotations

from kafka_assignors.lag.arithmetic import Reset, lag
from kafka_assignors.lag.fetch.fetcher import LagFetcher
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.plan.load.skew import RebalanceOnSkew, SkewWatch

__all__ = ["LagFetcher", "Offsets", "Reading", "RebalanceOnSkew", "Reset", "SkewWatch", "lag"]
