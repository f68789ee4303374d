"""Options of the strategies that plan by lag."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_assignors.assignor.options import PLANS, ConfigurationError, Options
from kafka_assignors.errors import OptionError
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.lag.feed.load_feed import LoadFeed, is_milliseconds
from kafka_assignors.lag.sources import from_cluster
from kafka_assignors.plan import TopicPartition

__all__ = ["CooperativeLagOptions", "LagOptions"]

LoadFunction = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, float]]


@dataclass(frozen=True, slots=True)
class LagOptions(Options):
    """Where lag comes from, and what is done about it.

    Attributes:
        consumer_config: keyword arguments of ``KafkaConsumer``, out of which the connection, the group and
            ``auto_offset_reset`` are taken.  Not needed within a consumer, whose own they are by default.
        lag_source: called with partitions, returns their lag (records) as a mapping, those it does not know
            left out.  In place of asking the cluster.  It is called on threads of ours, on two at once at
            times; what it raises is logged.
        lag_timeout_ms: how long the leader waits for lag in a rebalance, at most.
        lag_refresh_ms: how often a member measures the lag of what it owns, in the background.
        lag_max_age_ms: what a member reports counts no more when it is older.
        rebalance_on_skew: whether the leader asks for a rebalance when lag has become uneven: True, or a
            ``RebalanceOnSkew`` that says when.
    """

    # It has passwords in it.
    consumer_config: Mapping[str, Any] | None = field(default=None, repr=False)
    lag_source: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]] | None = None
    lag_timeout_ms: float = 2_000
    lag_refresh_ms: float = 10_000
    lag_max_age_ms: float = 60_000
    rebalance_on_skew: RebalanceOnSkew | bool = False

    def check(self) -> None:
        Options.check(self)
        for name in ("lag_timeout_ms", "lag_refresh_ms", "lag_max_age_ms"):
            if not is_milliseconds(value := getattr(self, name)):
                raise ConfigurationError(name, f"expected a number of milliseconds above 0, got {value!r}")
        if self.lag_source is not None and not callable(self.lag_source):
            raise ConfigurationError(
                "lag_source", f"expected a callable, got a {type(self.lag_source).__name__}"
            )
        if not isinstance(self.rebalance_on_skew, (bool, RebalanceOnSkew)):
            raise ConfigurationError(
                "rebalance_on_skew",
                f"expected True or a RebalanceOnSkew, got a {type(self.rebalance_on_skew).__name__}",
            )
        self._check_config()

    def _check_config(self) -> None:
        given: Any = self.consumer_config
        if given is None:
            return
        if not isinstance(given, Mapping):
            raise ConfigurationError("consumer_config", f"expected a mapping, got a {type(given).__name__}")
        try:
            # The group and where to start may come from the consumer.
            from_cluster({"group_id": "group", **given}).close()
        except OptionError as error:
            raise ConfigurationError("consumer_config", f"{error.option}: {error.reason}") from error

    @property
    def skew(self) -> RebalanceOnSkew | None:
        """When to ask for a rebalance; None for never."""
        if isinstance(self.rebalance_on_skew, RebalanceOnSkew):
            return self.rebalance_on_skew
        return RebalanceOnSkew() if self.rebalance_on_skew else None


@dataclass(frozen=True, slots=True)
class CooperativeLagOptions(LagOptions):
    """How much of balance goes to counts, and how much to calm; and what is expected beyond lag.

    Attributes:
        load_source: where forecasts of what will come are from, which then count beside lag: the name of a
            topic, or a ``LoadFeed``; or a function that is called with partitions, and returns the records
            expected of each, those it does not know left out.  It is called on a thread of ours, every
            ``lag_refresh_ms`` once this consumer has led, and never waited for.
        load_max_age_ms: forecasts count no more when their event time is further away than that; nor does
            what a function said longer ago.
        max_partition_skew: partitions one member may have more than another that could have one of them;
            1 is KIP-169's rule, None leaves counts to the load.
        min_improvement: the part by which the largest load has to fall, or nothing moves for it; 0.1 is 10 %.
    """

    load_source: str | LoadFeed | LoadFunction | None = None
    load_max_age_ms: float = 900_000
    max_partition_skew: int | None = field(default=1, metadata=PLANS)
    min_improvement: float = field(default=0.1, metadata=PLANS)

    def check(self) -> None:
        LagOptions.check(self)
        skew: Any = self.max_partition_skew
        if skew is not None and not (isinstance(skew, int) and not isinstance(skew, bool) and skew >= 1):
            raise ConfigurationError("max_partition_skew", f"expected a number from 1, or None, got {skew!r}")
        if not _is_number(self.min_improvement) or not 0 <= self.min_improvement < 1:
            raise ConfigurationError(
                "min_improvement", f"expected a number from 0 to below 1, got {self.min_improvement!r}"
            )
        if not is_milliseconds(self.load_max_age_ms):
            raise ConfigurationError(
                "load_max_age_ms", f"expected a number of milliseconds above 0, got {self.load_max_age_ms!r}"
            )
        self._check_load_source()

    def _check_load_source(self) -> None:
        source: Any = self.load_source
        if isinstance(source, str):
            try:
                LoadFeed(source)
            except OptionError as error:
                raise ConfigurationError(error.option, error.reason) from error
        elif not (source is None or isinstance(source, LoadFeed) or callable(source)):
            raise ConfigurationError(
                "load_source", f"expected a topic, a LoadFeed or a callable, got a {type(source).__name__}"
            )

    @property
    def load(self) -> LoadFeed | LoadFunction | None:
        """Where forecasts come from."""
        return LoadFeed(self.load_source) if isinstance(self.load_source, str) else self.load_source


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
