"""Histories and strategies for tests of the back-test, small enough to compute by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kafka_assignors.plan import (
    Assignment,
    Claims,
    Group,
    plan_cooperative_lag_aware,
    plan_lag_aware,
    plan_range,
    plan_sticky,
)
from kafka_assignors.simulation import History, Pauses, Strategy

NO_PAUSES = Pauses(heartbeat_s=0, join_s=0, refetch_s=0)


def history(
    *arrivals: Sequence[int],
    start: Sequence[int] | None = None,
    step_s: float = 1.0,
    rate: float | None = 10.0,
    topics: dict[str, int] | None = None,
) -> History:
    """Return a history of one topic: a sequence for each step, an entry for each partition."""
    partitions = len(arrivals[0])
    return History(
        group="g",
        step_s=step_s,
        topics=topics or {"t": partitions},
        arrivals=np.array(arrivals, np.int64),
        start_lags=np.array(start or [0] * partitions, np.int64),
        service_rate=rate,
    )


def _ranges(group: Group, claims: Claims) -> Assignment:
    return plan_range(group)


def _lag_aware(group: Group, claims: Claims) -> Assignment:
    return plan_lag_aware(group)


BY_RANGE = Strategy("range", _ranges)
STICKY = Strategy("sticky", plan_sticky)
COOPERATIVE = Strategy("cooperative-sticky", plan_sticky, cooperative=True)
LAG_AWARE = Strategy("lag-aware", _lag_aware, by_lag=True)
COOPERATIVE_BY_LAG = Strategy(
    "cooperative-lag-aware", plan_cooperative_lag_aware, cooperative=True, by_lag=True
)
BY_LOAD = replace(COOPERATIVE_BY_LAG, by_load=True)
EVERY = (BY_RANGE, STICKY, COOPERATIVE, LAG_AWARE, COOPERATIVE_BY_LAG)
