"""``cooperative-lag-aware``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.joined import Told
from kafka_assignors.assignor.lag.base import LagAssignor, log
from kafka_assignors.assignor.lag.expectations import Expectations
from kafka_assignors.assignor.lag.options import CooperativeLagOptions
from kafka_assignors.errors import OptionError
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.lag.feed.sources import LoadSource, ToldLoad
from kafka_assignors.plan import Assignment, Claims, Group, Member, Reason, plan_cooperative_lag_aware

__all__ = ["CooperativeLagAwareAssignor"]


class CooperativeLagAwareAssignor(LagAssignor):
    """The least lag for whoever has the most, over all topics, and no move that does not pay.

    In cooperative rounds (KIP-429).  See ``plan_cooperative_lag_aware``.  With ``load_source`` the load is
    lag and what is expected to come; its threads begin with the first join.
    """

    name = "cooperative-lag-aware"
    protocols = (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    by_rack = True  # while there is no lag
    options_type = CooperativeLagOptions
    by_forecast = True
    over_topics = True
    options: CooperativeLagOptions

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._expectations: Expectations | None = None
        self._hopeless = self.options.load_source is None

    @property
    def pays_from(self) -> float:
        return self.options.min_improvement

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_cooperative_lag_aware(
            group,
            claims,
            max_partition_skew=self.options.max_partition_skew,
            min_improvement=self.options.min_improvement,
        )

    # --- what is expected to come ---------------------------------------------------------------------------

    @property
    def forecasts(self) -> int | None:
        if self.options.load_source is None:
            return None
        return 0 if self._expectations is None else self._expectations.counted

    def in_its_words(self) -> Mapping[Reason, Reason]:
        return {Reason.LOAD: Reason.EXPECTED_LOAD} if self.forecasts else {}

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        joining = super().metadata(topics)
        with self._aside("beginning to read forecasts"):
            # Not first with an assignment: who joins may lead in a moment.
            if (expectations := self._expecting()) is not None:
                expectations.source.begin()
        return joining

    def with_lags(self, group: Group, said: Sequence[tuple[Member, Told]], complaints: Complaints) -> Group:
        group = super().with_lags(group, said, complaints)
        with self._aside("taking forecasts into account"):
            if (expectations := self._expecting()) is not None:
                left_s = max(self._deadline - time.monotonic(), 0.0)
                return expectations.in_plan(group, settling=self._next.settling, timeout_s=left_s)
        return group

    def with_expected_now(self, group: Group) -> Group:
        return group if self._expectations is None else self._expectations.now(group)

    def close(self) -> None:
        super().close()
        if self._expectations is not None:
            self._expectations.source.close()

    def _expecting(self) -> Expectations | None:
        """Made when it is first needed; None where there is nothing to expect, or no more."""
        if self._expectations is None and not self._closed and not self._hopeless:
            source = self._load_source()
            self._hopeless = source is None
            self._expectations = None if source is None else Expectations(self.name, source)
        return None if self._closed else self._expectations

    def _load_source(self) -> LoadSource | None:
        """None where there is none, or cannot be one, which is said."""
        options, given = self.options, self.options.load
        try:
            if isinstance(given, LoadFeed):
                config = {**(self._side.config() or {}), **(options.consumer_config or {})}
                source: LoadSource = given.reader(config, options.load_max_age_ms)
            elif given is not None:
                source = ToldLoad(given, options.lag_refresh_ms / 1000, options.load_max_age_ms / 1000)
            else:
                return None
        except OptionError as error:  # what the consumer let pass
            log.warning("%s: no forecasts, lag alone decides: %s", self.name, error)
            return None
        if not self._side.at_close(self.close):  # nobody would end its threads
            log.warning("%s: no forecasts, lag alone decides: this kafka-python is not known", self.name)
            return None
        return source
