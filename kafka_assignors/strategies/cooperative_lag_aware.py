"""``cooperative-lag-aware``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.lag.base import LagAssignor, log
from kafka_assignors.assignor.lag.forecasts import LoadForecasts
from kafka_assignors.assignor.lag.options import CooperativeLagOptions
from kafka_assignors.assignor.members import Reports
from kafka_assignors.errors import OptionError
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.lag.feed.sources import LoadSource, PolledLoad
from kafka_assignors.plan import Assignment, Claims, Group, Reason, plan_cooperative_lag_aware
from kafka_assignors.wire.compact_ownership import in_order


class CooperativeLagAwareAssignor(LagAssignor):
    """Minimises the largest lag that a member carries over all topics, within ``max_partition_skew``.

    Moves for lag are made only if the reduction justifies them.  They take cooperative rounds (KIP-429).  See
    ``plan_cooperative_lag_aware``.  With ``load_source``, forecast arrivals count as lag.  If the source
    is a ``LoadFeed``, the consumer reads it from its first join on.  If it is a function, the leader calls it
    from its first plan on.
    """

    name = "cooperative-lag-aware"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    by_rack = True  # while no lag is known, or all lag is 0
    options_type = CooperativeLagOptions
    by_forecast = True
    over_topics = True
    options: CooperativeLagOptions

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._forecasts: LoadForecasts | None = None
        self._is_unavailable = self.options.load_source is None

    @property
    def min_improvement(self) -> float:
        return self.options.min_improvement

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_cooperative_lag_aware(
            group,
            claims,
            max_partition_skew=self.options.max_partition_skew,
            min_improvement=self.options.min_improvement,
        )

    # --- forecasts ------------------------------------------------------------------------------------------

    @property
    def throughput_window_s(self) -> float | None:
        return self.options.load_horizon_ms / 1000 if self.options.measures_throughput else None

    @property
    def forecasts(self) -> int | None:
        if self.options.load_source is None:
            return None
        return 0 if self._forecasts is None else self._forecasts.count

    def reason_overrides(self) -> Mapping[Reason, Reason]:
        return {Reason.LOAD: Reason.EXPECTED_LOAD} if self.forecasts else {}

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        subscription = super().metadata(topics)
        with self._guarded("starting to read forecasts"):
            # Start before the first assignment, because a joining member may be the leader at once.
            if (forecasts := self._open_forecasts()) is not None:
                forecasts.source.begin()
        return subscription

    def with_reports(self, group: Group, reports: Reports, complaints: Complaints) -> Group:
        group = super().with_reports(group, reports, complaints)
        with self._guarded("adding forecasts"):
            if (forecasts := self._open_forecasts()) is not None:
                self._learn_rates(reports)
                return forecasts.with_planned_forecasts(group, is_later_round=self._is_later_round)
        return group

    def _learn_rates(self, reports: Reports) -> None:
        """Learn the arrival rates that members report of the partitions they own."""
        if self._throughput is not None:
            for member, report in reports:
                if report.rates:
                    owned = {*in_order(member.owned)}
                    rates = {p: rate for p, rate in report.rates.items() if p in owned}
                    self._throughput.learn(rates, time.monotonic())

    def with_forecasts(self, group: Group) -> Group:
        return group if self._forecasts is None else self._forecasts.with_current_forecasts(group)

    def close(self) -> None:
        if self._closed:  # lag fetching and the source both registered this method
            return
        try:
            super().close()
        finally:
            if self._forecasts is not None:
                self._forecasts.source.close()

    def _open_forecasts(self) -> LoadForecasts | None:
        """Return the forecasts, made at the first call; None without a source, or after ``close``."""
        if self._forecasts is None and not self._closed and not self._is_unavailable:
            source = self._load_source()
            self._is_unavailable = source is None
            self._forecasts = None if source is None else LoadForecasts(self.name, source)
        return None if self._closed else self._forecasts

    def _load_source(self) -> LoadSource | None:
        """Make the source; None without the option, or (after a warning) if the source cannot work."""
        options, load = self.options, self.options.load
        if load is None:
            return self._throughput
        try:
            if isinstance(load, LoadFeed):
                config = {**(self._access.config() or {}), **(options.consumer_config or {})}
                source: LoadSource = load.reader(config, options.load_max_age_ms)
            else:
                source = PolledLoad(load, options.lag_refresh_ms / 1000, options.load_max_age_ms / 1000)
        except OptionError as error:  # the consumer accepts some options that lag fetching refuses
            log.warning("%s: no forecasts, planning by lag alone: %s", self.name, error)
            return None
        if not self._access.on_close(self.close):  # without this hook, nothing would end the source's threads
            log.warning(
                "%s: no forecasts, planning by lag alone: the consumer has ended, or this kafka-python"
                " version is unknown",
                self.name,
            )
            return None
        return source
