"""Consumer lag: its arithmetic, fetching it from the cluster, and measuring rates.

- ``arithmetic``: the lag of one partition.  ``reading``: the results of a fetch.
- ``fetch/``: offsets and lag from the brokers.  ``feed/``: forecasts of load from the feed topic.
- ``sources``: the cluster, or a user's function.  ``keeper``: measures the lag of a member's partitions.
- ``settings``: settings of a fetcher.  ``connection``: connection settings of a program.
- ``service_rate``: how fast a member reads.  ``throughput``: arrival rates.  ``rates``: rates of a watched
  group.
- ``retention``: how near a group is to losing unread records.
"""

from __future__ import annotations

from kafka_assignors.lag.arithmetic import Reset, lag
from kafka_assignors.lag.fetch.fetcher import LagFetcher
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.plan.load.skew import RebalanceOnSkew, SkewWatch

__all__ = ["LagFetcher", "Offsets", "Reading", "RebalanceOnSkew", "Reset", "SkewWatch", "lag"]
