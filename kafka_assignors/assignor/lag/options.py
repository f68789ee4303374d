"""Options of the strategies that plan by lag."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kafka_assignors.assignor.lag.capacity import MEASURED
from kafka_assignors.assignor.options import PLANS, Options
from kafka_assignors.assignor.record_size import RECORD_BYTES
from kafka_assignors.errors import OptionError
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.lag.feed.load_feed import LoadFeed, check_config
from kafka_assignors.plan import TopicPartition
from kafka_assignors.plan.capacity import LEAST, MOST, in_units
from kafka_assignors.validators import function, instance, number, positive, whole, wrong

_LEAST_RECORD, _MOST_RECORD = 1_024, 2**31 - 1  # bytes
_THROUGHPUT = "throughput"  # the value of ``load_source`` that makes members measure arrivals
LoadFunction = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]]


@dataclass(frozen=True, slots=True)
class LagOptions(Options):
    """Options of every strategy that plans by lag.

    Attributes:
        consumer_config: keyword arguments of ``KafkaConsumer`` for fetching lag and forecasts: connection,
            group, ``auto_offset_reset`` and ``isolation_level``.  They replace the consumer's own.
        lag_source: your function from partitions to a mapping of lag (records), instead of the cluster.  It
            may leave out partitions.  Background threads call it, at times two at once.  Exceptions are
            logged.
        lag_timeout_ms: longest time the leader waits for lag in a rebalance, at most a third of
            ``session_timeout_ms``.
        lag_refresh_ms: how often a member measures the lag of its partitions, in the background.
        lag_max_age_ms: the leader ignores older reports.
        capacity: how fast this consumer reads, compared with the others: 2 is twice as fast as 1.
            ``measured``: the member measures its records/s while it has a backlog, and 1 is the median of the
            group.
        group_record_bytes: limit of the group's record: the ``max.message.bytes`` of ``__consumer_offsets``,
            by default the brokers' ``message.max.bytes``.  If the record may exceed half of it, members
            shorten their reports of lag and owned partitions.
        rebalance_on_skew: whether the leader requests a rebalance when lag has become uneven: True, or a
            ``RebalanceOnSkew`` with the conditions.
    """

    # It may hold passwords.
    consumer_config: Mapping[str, Any] | None = field(default=None, repr=False)
    lag_source: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]] | None = None
    lag_timeout_ms: float = 2_000
    lag_refresh_ms: float = 10_000
    lag_max_age_ms: float = 60_000
    capacity: float | Literal["measured"] = 1.0
    group_record_bytes: int = RECORD_BYTES
    rebalance_on_skew: RebalanceOnSkew | bool = False

    def check(self) -> None:
        Options.check(self)
        for name in ("lag_timeout_ms", "lag_refresh_ms", "lag_max_age_ms"):
            positive(name, getattr(self, name), "milliseconds")
        if self.capacity == MEASURED:
            if self.lag_source is not None:
                raise OptionError("capacity", "measured needs the cluster's offsets, not a lag_source")
        elif isinstance(self.capacity, str) or in_units(self.capacity) is None:
            raise wrong("capacity", f"measured, or a number from {LEAST} to {MOST:,g}", self.capacity)
        whole("group_record_bytes", self.group_record_bytes, _LEAST_RECORD, _MOST_RECORD)
        if self.lag_source is not None:
            function("lag_source", self.lag_source)
        instance(
            "rebalance_on_skew", self.rebalance_on_skew, (bool, RebalanceOnSkew), "True or a RebalanceOnSkew"
        )
        if self.consumer_config is not None:
            check_config(self.consumer_config)

    @property
    def given_capacity(self) -> float | None:
        """The capacity; None: the member measures it."""
        return None if isinstance(self.capacity, str) else self.capacity

    @property
    def skew(self) -> RebalanceOnSkew | None:
        """When to request a rebalance; None for never."""
        if isinstance(self.rebalance_on_skew, RebalanceOnSkew):
            return self.rebalance_on_skew
        return RebalanceOnSkew() if self.rebalance_on_skew else None


@dataclass(frozen=True, slots=True)
class CooperativeLagOptions(LagOptions):
    """Options of ``cooperative-lag-aware``: the limits of a plan, and forecasts.

    Attributes:
        load_source: forecasts of arrivals, which add to lag: the name of a topic, a ``LoadFeed``,
            ``throughput`` (members measure the arrivals of their partitions), or a function from partitions
            to a mapping of expected records, which may leave out partitions.  A background thread calls the
            function every ``lag_refresh_ms`` once this consumer has led the group.
        load_horizon_ms: how far back ``throughput`` measures arrivals, and how far ahead it expects arrivals
            at the same rate.  A rate counts once it was measured for a fifteenth of this time.
        load_max_age_ms: the leader ignores forecasts whose event time is further from now than this, and
            older answers of a function.
        max_partition_skew: largest difference between the partition counts of two members, if the member with
            fewer could take a partition from the other.  1 is KIP-169's rule; None sets no limit.
        min_improvement: least relative reduction of the largest load that justifies moves; 0.1 is 10 %.
    """

    load_source: str | LoadFeed | LoadFunction | None = None
    load_max_age_ms: float = 900_000
    load_horizon_ms: float = 900_000
    max_partition_skew: int | None = field(default=1, metadata=PLANS)
    min_improvement: float = field(default=0.1, metadata=PLANS)

    def check(self) -> None:
        LagOptions.check(self)
        if self.max_partition_skew is not None:
            whole("max_partition_skew", self.max_partition_skew, 1)
        number("min_improvement", self.min_improvement, 0, below=1)
        positive("load_max_age_ms", self.load_max_age_ms, "milliseconds")
        positive("load_horizon_ms", self.load_horizon_ms, "milliseconds")
        source: Any = self.load_source
        if source == _THROUGHPUT:
            if self.lag_source is not None:
                raise OptionError("load_source", "throughput needs the cluster's offsets, not a lag_source")
        elif isinstance(source, str):
            LoadFeed(source)
        elif not (source is None or callable(source)):
            instance("load_source", source, LoadFeed, "a topic, a LoadFeed or a function")

    @property
    def measures_throughput(self) -> bool:
        """Whether members measure the arrivals of their partitions."""
        return self.load_source == _THROUGHPUT

    @property
    def load(self) -> LoadFeed | LoadFunction | None:
        """The source of forecasts other than the members; None: there is none."""
        if self.measures_throughput:
            return None
        return LoadFeed(self.load_source) if isinstance(self.load_source, str) else self.load_source
