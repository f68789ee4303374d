"""The strategy of a group that plans by its measured arrivals, with times that suit a day of four minutes."""

from kafka_assignors import CooperativeLagAwareAssignor, RebalanceOnSkew

ByLoad = CooperativeLagAwareAssignor.configured(
    load_source="throughput",
    load_horizon_ms=15_000,
    lag_refresh_ms=1_000,
    rebalance_on_skew=RebalanceOnSkew(
        threshold=1.1, at_least=0, for_s=1, check_s=1, cool_down_s=5, per_hour=1000
    ),
)
