"""What the strategies that plan by lag have in common: finding it out, and never waiting for it for long."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from kafka.cluster import ClusterMetadata
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_assignors.assignor import convert
from kafka_assignors.assignor.base import Assignor
from kafka_assignors.assignor.complaints import Complaints
from kafka_assignors.assignor.joined import Told
from kafka_assignors.assignor.lag.options import LagOptions
from kafka_assignors.assignor.lag.reports import reported
from kafka_assignors.assignor.lag.skew_watcher import SkewWatcher
from kafka_assignors.errors import OptionError
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.sources import Answer, Lags, Source, from_cluster, from_function
from kafka_assignors.plan import UNKNOWN_LAG, Assignment, Group, Member, Ownership, TopicPartition, shown
from kafka_assignors.wire import lag_user_data

__all__ = ["LagAssignor"]

log = logging.getLogger("kafka_assignors")


class LagAssignor(Assignor):
    """Reports the lag of what its member owns; on the leader, puts together what all members reported.

    What nobody reported, or too long ago, the leader asks the cluster for, and goes on without it after
    ``lag_timeout_ms``.  The threads this takes start with the first assignment and end with the consumer's
    ``close()``.
    """

    options_type = LagOptions
    by_rack = False
    is_classic_only = True
    by_lag = True
    over_topics: ClassVar[bool] = False
    """It adds up what a member has of several topics."""
    options: LagOptions

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._keeper: LagKeeper | None = None
        self._watcher: SkewWatcher | None = None
        self._closed = False
        self._unable = ""  # why there is no keeper
        self._complained = False
        self._said: tuple[object, bytes] = None, b""
        # On the leader:
        self._deadline = 0.0
        self._given: Assignment | None = None
        self._settling: Lags = {}

    def close(self) -> None:
        """End the threads; the consumer's ``close()`` does that, too."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.close()

    @property
    def pays_from(self) -> float:
        """The part by which a plan has to make the largest load smaller, for a rebalance to be asked for."""
        return 0.1

    @property
    def needs_leader(self) -> bool:
        return self.options.skew is not None

    def with_expected_now(self, group: Group) -> Group:
        """Put what is expected to come into a group's lags, in the background; the same group if nothing."""
        return group

    # --- what members tell each other ----------------------------------------------------------------------

    def user_data(self, revoked: Ownership, generation: int) -> bytes:
        lags, then = ({}, 0.0) if self._keeper is None else self._keeper.report()
        owned = convert.ownership(self._side.owned() or ()) or self._owned
        what = revoked, owned, generation, then
        # The same bytes again while nothing has changed: a broker takes a join with other bytes for news.
        if self._said[0] != what:
            age_ms = 1000 * (time.monotonic() - then) if lags else 0
            have = (TopicPartition(topic, p) for topic, numbers in owned.items() for p in numbers)
            mine = {at: lags[at] for at in have if at in lags}
            self._said = what, lag_user_data.encode(revoked, generation, mine, age_ms)
        return self._said[1]

    def told(self, user_data: bytes) -> Told:
        if not user_data:
            return Told()
        revoked, generation, lags, age_ms = lag_user_data.decode(user_data)
        return Told(revoked, generation, lags=lags, lag_age_ms=age_ms)

    # --- what kafka-python calls ---------------------------------------------------------------------------

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        self._given = None
        with self._aside("ending the watch over lag"):
            if self._watcher is not None:
                self._watcher.rest()
        return super().metadata(topics)

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        given, settled = self._given, not self._next.held
        self._given = None
        super().on_assignment(assignment, generation)
        with self._aside("keeping lag"):
            keeper = self._ready()
            if keeper is None:
                return
            joined = self._side.generation()

            def still() -> bool:
                """Not after the membership was lost, or in another generation."""
                return self._side.generation() == joined

            keeper.keep([TopicPartition(t, p) for t, ps in self._owned.items() for p in ps], still)
            if self._watcher is not None and given is not None and settled:
                self._watcher.lead(given, still)

    def _assign(
        self, cluster: ClusterMetadata, members: Sequence[JoinGroupResponse.JoinGroupResponseMember]
    ) -> Assignment:
        self._given = None
        patience = self.options.lag_timeout_ms / 1000
        if (session := self._side.session_timeout_s()) is not None:
            patience = min(patience, session / 3)  # the leader must not be taken for dead while it waits
        self._deadline = time.monotonic() + patience
        self._given = super()._assign(cluster, members)
        return self._given

    # --- the leader ----------------------------------------------------------------------------------------

    def with_lags(self, group: Group, said: Sequence[tuple[Member, Told]], complaints: Complaints) -> Group:
        subscribers = group.subscribed.sum(axis=1)
        # What only one member can have is a load to it, and decides what it gets of other topics; but where
        # no topic has a choice of members, lag decides nothing.
        matters = subscribers > 0 if self.over_topics else subscribers > 1
        read = [n for n, does in zip(group.names, matters, strict=True) if does and (subscribers > 1).any()]
        lags = {topic: np.full(group.topics[topic], UNKNOWN_LAG, np.int64) for topic in read}
        known = {
            **reported(said, self.options.lag_max_age_ms, complaints, of_owned=self.over_topics),
            # What the leader has just seen itself is as true as can be, and younger than any report: those
            # have waited for the rebalance to begin.
            **({} if self._keeper is None else self._keeper.recent()),
            # While partitions wait to be handed over the plan is to be the same again, not another one.
            **(self._settling if self._next.settling else {}),
        }
        for at, lag in known.items():
            if at.topic in lags and 0 <= at.partition < len(lags[at.topic]):
                lags[at.topic][at.partition] = lag
        rest = [
            TopicPartition(topic, p)
            for topic, of_topic in lags.items()
            for p in np.flatnonzero(of_topic == UNKNOWN_LAG).tolist()
        ]
        answer = self._ask(rest)
        for at in rest:
            lags[at.topic][at.partition] = answer.lags.get(at, UNKNOWN_LAG)
        self._settling = {**known, **answer.lags}
        unknown = [at for at in rest if at not in answer.lags]
        if answer.problem or not unknown:
            self._say_when_it_changes(len(unknown), sum(map(len, lags.values())), answer.problem)
        return replace(group, lags={topic: of_topic.tolist() for topic, of_topic in lags.items()})

    def _ask(self, partitions: Sequence[TopicPartition]) -> Answer:
        if not partitions:
            return Answer({})
        keeper = self._ready()
        if keeper is None:
            return Answer({}, self._unable)
        return keeper.ask(partitions, max(self._deadline - time.monotonic(), 0.0))

    def _say_when_it_changes(self, unknown: int, partitions: int, why: str) -> None:
        if not unknown and self._complained:
            log.info("%s: the lag of all partitions is known again", self.name)
        elif unknown and not self._complained:
            log.warning(
                "%s: no lag of %d of %d partitions (%s): counts decide there",
                *(self.name, unknown, partitions, shown(why)),
            )
        self._complained = unknown > 0

    # --- the background ------------------------------------------------------------------------------------

    def _ready(self) -> LagKeeper | None:
        """The keeper, made when it is first needed; None where there is no way to ask, or no more."""
        if self._keeper is None and not self._closed and not self._unable:
            self._keeper = self._made()
        return None if self._closed else self._keeper

    def _made(self) -> LagKeeper | None:
        source = self._source()
        if source is None:
            return None
        if not self._side.at_close(self.close):  # nobody would end its threads
            self._unable = "this kafka-python is not known"
            return None
        options = self.options
        keeper = LagKeeper(source, options.lag_refresh_ms / 1000, options.lag_timeout_ms / 1000)
        if options.skew is not None:
            self._watcher = SkewWatcher(
                options.skew,
                keeper,
                self.plan,
                self.pays_from,
                self._side,
                with_expected=self.with_expected_now,
            )
        return keeper

    def _source(self) -> Source | None:
        """None, and why not in ``_unable``; by hand, without a consumer, there need not be one."""
        if self.options.lag_source is not None:
            return from_function(self.options.lag_source)
        there, given = self._side.config(), self.options.consumer_config
        if there is None and given is None:
            if self._side.is_strange():
                self._unable = "this kafka-python is not known"
            return None
        try:
            return from_cluster({**(there or {}), **(given or {})})
        except OptionError as error:  # what the consumer let pass
            self._unable = str(error)
            return None
