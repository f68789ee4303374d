"""Strategies of a group that plans by its measured arrivals, for a day of four minutes.

Times and records are about a sixtieth of the defaults, 15 s instead of 15 minutes.  Lag is measured each
second.
"""

from kafka_assignors import CooperativeLagAwareAssignor, RebalanceOnSkew

Unwatched = CooperativeLagAwareAssignor.configured(
    load_source="throughput", load_horizon_ms=15_000, lag_refresh_ms=1_000
)
ByLoad = Unwatched.configured(
    rebalance_on_skew=RebalanceOnSkew(at_least=17, for_s=0.5, check_s=0.2, cool_down_s=2, per_hour=360)
)
