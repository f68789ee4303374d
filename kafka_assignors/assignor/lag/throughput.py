"""Forecasts from present arrival rates: ``load_source="throughput"``."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from kafka_assignors.assignor.members import Reports
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire.compact_ownership import in_order

THROUGHPUT = "throughput"
"""The value of ``load_source`` that selects these forecasts."""


class ThroughputLoad:
    """Expects each partition to receive as much as it does now.

    Args:
        throughput: arrival rates that this member measured or that others reported.
        horizon_s: seconds that it forecasts.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self, throughput: Throughput, horizon_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._throughput = throughput
        self._horizon_s = horizon_s
        self._now = now

    def learn(self, reports: Reports) -> None:
        """Learn the rates that members report of the partitions they own."""
        for member, report in reports:
            if report.rates:
                owned = {*in_order(member.owned)}
                rates = {partition: rate for partition, rate in report.rates.items() if partition in owned}
                self._throughput.learn(rates, self._now())

    def begin(self) -> None:
        """Do nothing: members measure once they own partitions."""

    def look(self, partitions: Collection[TopicPartition]) -> Expected:
        """Return the records that each partition with a known rate receives within the horizon."""
        rates = self._throughput.rates(partitions)
        problem = "" if len(rates) == len(partitions) else "arrivals have not been measured yet"
        return Expected(
            {partition: rate * self._horizon_s for partition, rate in rates.items()},
            problem=problem,
            is_logged=True,
            period_s=self._horizon_s,
        )

    def close(self) -> None:
        """Do nothing: there is no thread."""
