"""The base of the strategies that plan by lag.  It never waits for lag beyond a deadline."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.lag.budget import Budgets
from kafka_assignors.assignor.lag.capacity import MeasuredCapacities
from kafka_assignors.assignor.lag.options import LagOptions
from kafka_assignors.assignor.lag.reports import OwnReport, newest_reports
from kafka_assignors.assignor.lag.skew_watcher import SkewWatcher
from kafka_assignors.assignor.members import JoinedMember, MemberReport, Reports
from kafka_assignors.assignor.record_size import plain_bytes
from kafka_assignors.errors import OptionError
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.sources import ClusterLag, FunctionLag, LagAnswer, Lags, LagSource
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import UNKNOWN_LAG, Assignment, Group, Ownership, Rebalance, TopicPartition, shown
from kafka_assignors.wire import budget, lag_user_data
from kafka_assignors.wire.compact_ownership import in_order

log = logging.getLogger("kafka_assignors")


class LagAssignor(Assignor):
    """Reports the lag of its member's partitions; on the leader, plans with the lag that all members report.

    The leader fetches the lag of partitions without a recent report.  After ``lag_timeout_ms``, or a third of
    the session timeout if that is shorter, it plans without that lag.  The fetching threads live from the
    first fetch to the consumer's ``close()``.
    """

    options_type = LagOptions
    by_rack = False
    is_classic_only = True
    by_lag = True
    over_topics: ClassVar[bool] = False
    """Whether it balances a member's lag summed over all topics; else each topic alone."""
    sends_claims: ClassVar[bool] = True
    """Whether members report the partitions that they own."""
    options: LagOptions

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._keeper: LagKeeper | None = None
        self._watcher: SkewWatcher | None = None
        self._closed = False
        self._unavailable = ""  # why there is no keeper
        self._warned = False  # of unknown lag
        window_s = self.throughput_window_s
        self._throughput = None if window_s is None else Throughput(window_s)
        self._own = OwnReport(self.options.given_capacity, self._throughput)
        # On the leader:
        self._deadline = 0.0
        self._planned: Assignment | None = None
        self._first_round_s = 0.0  # later rounds use the lags, capacities and forecasts of this time
        self._is_later_round = False
        self._round_lags: Lags = {}
        self._capacities = MeasuredCapacities(self.name)
        self._budgets = Budgets(self.name, self.options.group_record_bytes, claims=self.sends_claims)
        self._record = self._budgets.watch

    def close(self) -> None:
        """End the threads.  The consumer's ``close()`` calls this."""
        self._closed = True
        self._unavailable = "this instance belonged to a consumer that is closed: pass the class"
        if self._keeper is not None:
            self._keeper.close()

    @property
    def min_improvement(self) -> float:
        """Least relative reduction of the largest load for which the leader requests a rebalance."""
        return 0.1

    @property
    def throughput_window_s(self) -> float | None:
        """Seconds over which members measure the arrival rates of their partitions; None: they do not."""
        return None

    @property
    def leader_watches_lag(self) -> bool:
        return self.options.skew is not None

    def with_forecasts(self, group: Group) -> Group:
        """Add forecasts to a group's lag, for the skew watcher; without forecasts, return the same group."""
        return group

    # --- user data -----------------------------------------------------------------------------------------

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        owned, owned_in = self._last_assignment()  # a strategy without claims passes no generation
        self._own.measure(self._keeper, owned, owned_in)
        return self._own.encode(revoked, generation, reads_budget=self._access.unfold_assignments())

    def _subscription(
        self, topics: Iterable[str], revoked: Ownership, owned: Ownership, generation: int
    ) -> ConsumerProtocolSubscription:
        plain = super()._subscription(topics, revoked, owned, generation)
        limit = self._own.budget
        if limit is None or plain_bytes(owned) + len(plain.user_data) <= limit:
            return plain
        claimed = owned or revoked if self.sends_claims else {}
        compact = self._own.encode_compact(claimed, generation, still_owns=bool(owned))
        return convert.encode_subscription(topics, compact, {}, generation, self._rack)

    def decode_user_data(self, user_data: bytes) -> MemberReport:
        return MemberReport(**lag_user_data.decode(user_data)._asdict()) if user_data else MemberReport()

    # --- called by kafka-python ----------------------------------------------------------------------------

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        self._planned = None
        self._own.pause()
        with self._guarded("stopping the skew watcher"):
            if self._watcher is not None:
                self._watcher.stop()
        return super().metadata(topics)

    def _completed(
        self,
        assignments: dict[str, ConsumerProtocolAssignment],
        members: Sequence[JoinedMember],
        reports: Reports,
        result: Rebalance | None,
    ) -> dict[str, ConsumerProtocolAssignment]:
        self._planned = None if result is None else result.assigned
        with self._guarded("keeping the group's record small"):
            if reports and all(report.reads_budget for _member, report in reports):
                # ``add`` also checks the record's size.
                return self._budgets.add(
                    assignments,
                    members,
                    self._throughput,
                    some_have_budgets=any(report.has_budget for _member, report in reports),
                )
        return super()._completed(assignments, members, reports, result)

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        with self._guarded("reading the budget"):
            if (received := budget.decode(bytes(assignment.user_data or b""))) is not None:
                if received.size is not None:
                    self._own.budget = None if received.size == budget.NO_LIMIT else received.size
                self._own.learn(convert.ownership(assignment.partitions()), received.rates)
        self._own.end_join()
        planned = self._planned
        self._planned = None
        super().on_assignment(assignment, generation)
        with self._guarded("tracking lag"):
            if (keeper := self._open_keeper()) is None:
                self._own.warn_unmeasured(self.name, self._unavailable)
                return
            joined_generation = self._access.generation()

            def is_current() -> bool:
                """Whether the member is still in the generation of this assignment."""
                return self._access.generation() == joined_generation

            owned = in_order(self._owned)
            self._own.begin(owned)
            keeper.keep(owned, is_current)
            self._access.recorder.watch_lag(keeper.age_s)
            if self._watcher is not None and planned is not None and not self._second_round.is_settling:
                self._watcher.lead(planned, joined_generation)

    def _begin_round(self) -> None:
        self._planned = None
        timeout_s = self.options.lag_timeout_ms / 1000
        if (session_s := self._access.session_timeout_s()) is not None:
            timeout_s = min(timeout_s, session_s / 3)  # the leader must not lose its session while it waits
        now = time.monotonic()
        self._deadline = now + timeout_s
        age_s = now - self._first_round_s
        # All rounds of a rebalance use the figures of its first round, unless these are too old.
        is_recent = age_s <= self.options.lag_max_age_ms / 1000
        self._is_later_round = self._second_round.is_settling and is_recent
        if not self._is_later_round:
            self._first_round_s = now

    def _read(self, members: Sequence[JoinedMember], complaints: Complaints) -> Reports:
        self._begin_round()
        read = super()._read(members, complaints)
        with self._guarded("comparing capacities"):
            read = self._capacities.with_capacities(read, is_later_round=self._is_later_round)
        return read

    # --- the leader ----------------------------------------------------------------------------------------

    def with_reports(self, group: Group, reports: Reports, complaints: Complaints) -> Group:
        subscribers = group.subscribed.sum(axis=1)
        # With ``over_topics``, a topic with one subscriber counts: its lag is part of that member's load.
        # If no topic has two subscribers, the plan does not depend on lag.
        are_relevant = subscribers > 0 if self.over_topics else subscribers > 1
        has_choice = bool((subscribers > 1).any())
        lags = {
            topic: np.full(group.topics[topic], UNKNOWN_LAG, np.int64)
            for topic, is_relevant in zip(group.names, are_relevant, strict=True)
            if is_relevant and has_choice
        }
        max_age_ms = self.options.lag_max_age_ms
        known = {
            **newest_reports(reports, max_age_ms, complaints, of_owned=self.sends_claims),
            # The leader's own fetches override reports; they are at most ``lag_refresh_ms`` old.
            **({} if self._keeper is None else self._keeper.recent(max_age_ms / 1000)),
            **(self._round_lags if self._is_later_round else {}),
        }
        for partition, lag in known.items():
            if partition.topic in lags and 0 <= partition.partition < len(lags[partition.topic]):
                lags[partition.topic][partition.partition] = lag
        to_fetch = [
            TopicPartition(topic, p)
            for topic, topic_lags in lags.items()
            for p in np.flatnonzero(topic_lags == UNKNOWN_LAG).tolist()
        ]
        answer = self._ask(to_fetch)
        for partition in to_fetch:
            lags[partition.topic][partition.partition] = answer.lags.get(partition, UNKNOWN_LAG)
        self._round_lags = {**known, **answer.lags}
        unknown = [partition for partition in to_fetch if partition not in answer.lags]
        if lags and (answer.problem or not unknown):
            self._log_change(len(unknown), sum(map(len, lags.values())), answer.problem)
        return replace(group, lags={topic: topic_lags.tolist() for topic, topic_lags in lags.items()})

    def _ask(self, partitions: Sequence[TopicPartition]) -> LagAnswer:
        if not partitions:
            return LagAnswer({})
        if (keeper := self._open_keeper()) is None:
            return LagAnswer({}, self._unavailable)
        return keeper.ask(partitions, max(self._deadline - time.monotonic(), 0.0))

    def _log_change(self, unknown: int, partitions: int, problem: str) -> None:
        if not unknown and self._warned:
            log.info("%s: the lag of all partitions is known again", self.name)
        elif unknown and not self._warned:
            log.warning(
                "%s: lag unknown for %d of %d partitions (%s): each counts as the mean lag of its"
                " topic, or as 0 if its topic has no known lag",
                self.name,
                unknown,
                partitions,
                shown(problem),
            )
        self._warned = unknown > 0

    # --- the background ------------------------------------------------------------------------------------

    def _open_keeper(self) -> LagKeeper | None:
        """Return the keeper, made at the first call; None if lag cannot be fetched, or once closed."""
        if self._keeper is None and not self._closed and not self._unavailable:
            self._keeper = self._make_keeper()
        return None if self._closed else self._keeper

    def _make_keeper(self) -> LagKeeper | None:
        if (source := self._source()) is None:
            return None
        if not self._access.on_close(self.close):  # the threads would outlive the consumer
            self._unavailable = "the consumer has ended, or this kafka-python version is unknown"
            return None
        options = self.options
        keeper = LagKeeper(
            source,
            options.lag_refresh_ms / 1000,
            options.lag_timeout_ms / 1000,
            on_failure=self._access.recorder.record_failed_lag_fetch,
            on_answer=self._own.observe,
        )
        if options.skew is not None:
            self._watcher = SkewWatcher(
                options.skew,
                keeper,
                self.checked_plan,
                self.min_improvement,
                self._access,
                with_forecasts=self.with_forecasts,
            )
        return keeper

    def _source(self) -> LagSource | None:
        """Make the source; None without a consumer, or if impossible (``_unavailable`` has the reason)."""
        if self.options.lag_source is not None:
            return FunctionLag(self.options.lag_source)
        own, option = self._access.config(), self.options.consumer_config
        if own is None and option is None:
            if self._access.is_unknown_version():
                self._unavailable = "this kafka-python version is unknown"
            return None
        try:
            return ClusterLag({**(own or {}), **(option or {})})
        except OptionError as error:  # the consumer accepts some options that lag fetching refuses
            self._unavailable = str(error)
            return None
