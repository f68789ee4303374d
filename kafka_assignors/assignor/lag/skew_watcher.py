"""Requests a rebalance, on the leader, when lag is uneven and a new plan would clearly improve it.

A broker starts a rebalance whenever the leader requests one, but for another member only if its subscription
has changed.  So the watcher is idle on other members.  It is also idle during a rebalance.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.lag import RebalanceOnSkew, SkewWatch
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.sources import LagAnswer, Lags, one_line
from kafka_assignors.plan import (
    UNKNOWN_LAG,
    Assignment,
    Claims,
    Group,
    TopicPartition,
    lag_lower_bound,
    measure,
    resolve,
)
from kafka_assignors.plan.cause import Cause

log = logging.getLogger("kafka_assignors")


class SkewWatcher:
    """Checks a group's lag periodically while its consumer leads the group.

    Args:
        policy: when to check, and when to request a rebalance.
        min_improvement: see ``plan_cooperative_lag_aware``.
        with_forecasts: adds forecast arrivals to the lag; returns its argument if there are none.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self,
        policy: RebalanceOnSkew,
        keeper: LagKeeper,
        plan: Callable[[Group, Claims], Assignment],
        min_improvement: float,
        access: CoordinatorAccess,
        *,
        with_forecasts: Callable[[Group], Group] = lambda group: group,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keeper = keeper
        self._plan = plan
        self._access = access
        self._with_forecasts = with_forecasts
        self._now = now
        self._watch = SkewWatch(policy, str(access.member_id()), min_improvement)
        self._turn = 0  # incremented by `lead` and `stop`, so that checks of earlier turns end

    def lead(self, planned: Assignment, generation: int | None) -> None:
        """Watch a group that has settled on this assignment, as long as the generation stays the same."""
        self._turn += 1
        self._watch.begin_cool_down(self._now())
        # All members own their parts of one plan, in the same generation, so the claims cannot conflict.
        members = tuple(
            replace(member, owned=planned.of_member(i), generation=0, still_owns=False)
            for i, member in enumerate(planned.group.members)
        )
        self._schedule(replace(planned.group, members=members, lags={}), generation, self._turn)

    def stop(self) -> None:
        """Stop watching: a rebalance begins, and another member may lead after it."""
        self._turn += 1

    def _is_current(self, generation: int | None, turn: int) -> bool:
        return turn == self._turn and self._access.generation() == generation

    def _schedule(self, group: Group, generation: int | None, turn: int) -> None:
        self._keeper.later(self._watch.check_s, partial(self._check, group, generation, turn))

    def _check(self, group: Group, generation: int | None, turn: int) -> None:
        if not self._is_current(generation, turn):
            return
        try:
            answer = self._keeper.fetch([group.at(p) for p in range(group.size)])
        except Exception as error:  # the assignor logs missing lag when it plans
            log.debug("cannot check the group's lag: %s", one_line(error))
            answer = LagAnswer({})
        try:
            if answer.lags:
                self._decide(group, answer.lags, generation, turn)
        finally:
            self._schedule(group, generation, turn)

    def _decide(self, group: Group, lags: Lags, generation: int | None, turn: int) -> None:
        with_lags = replace(
            group,
            lags={
                topic: [lags.get(TopicPartition(topic, p), UNKNOWN_LAG) for p in range(count)]
                for topic, count in group.topics.items()
            },
        )
        group = self._with_forecasts(with_lags)
        claims = resolve(group)
        largest = measure(group, claims, Assignment(group, claims.owner)).max_load or 0
        new_largest = self._watch.load_after_rebalance(
            self._now(),
            largest,
            lag_lower_bound(group),
            lambda: measure(group, claims, self._plan(group, claims)).max_load or 0,
        )
        if new_largest is None or not self._is_current(generation, turn):
            return
        self._watch.record_request(self._now())
        weighted = "" if group.capacities.are_equal else "weighted "
        log.info(
            "requesting a rebalance: the largest %s%s of a member is %d records, a new plan makes it %d",
            weighted,
            "lag" if group is with_lags else "expected load",
            largest,
            new_largest,
        )
        cause = Cause.SKEW if group is with_lags else Cause.FORECAST
        self._access.request_rejoin_threadsafe(cause, generation)
