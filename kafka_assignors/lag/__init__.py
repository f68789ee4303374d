"""How much is left to read: the arithmetic and the decisions (pure), and asking the cluster."""

from __future__ import annotations

from kafka_assignors.lag.skew import RebalanceOnSkew, SkewWatch

__all__ = ["RebalanceOnSkew", "SkewWatch"]
