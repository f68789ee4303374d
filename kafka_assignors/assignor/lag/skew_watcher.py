"""On the leader: asks for a rebalance when lag has become uneven and a plan would make it clearly better.

kafka-python has no public call for that, and only a leader's request starts a rebalance for sure.  So the
watcher is quiet on every other member, and while a rebalance goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from kafka_assignors.assignor.coordinator_access import ConsumerSide
from kafka_assignors.lag import RebalanceOnSkew, SkewWatch
from kafka_assignors.lag.keeper import LagKeeper
from kafka_assignors.lag.sources import Answer, Lags, one_line
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

__all__ = ["SkewWatcher"]

log = logging.getLogger("kafka_assignors")


class SkewWatcher:
    """Looks at a group's lag now and then, for as long as its consumer leads it.

    Args:
        policy: when to ask.
        keeper: whose thread it looks on, and what it asks for lag.
        plan: the strategy's.
        min_improvement: the part by which the plan has to make the largest load smaller.
        side: the consumer.
        with_expected: puts into the lags of a group what is expected to come, as a plan would have it.
        now: seconds, as ``time.monotonic``.
    """

    def __init__(
        self,
        policy: RebalanceOnSkew,
        keeper: LagKeeper,
        plan: Callable[[Group, Claims], Assignment],
        min_improvement: float,
        side: ConsumerSide,
        *,
        with_expected: Callable[[Group], Group] = lambda group: group,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keeper = keeper
        self._plan = plan
        self._side = side
        self._with_expected = with_expected
        self._now = now
        self._watch = SkewWatch(policy, str(side.member_id()), min_improvement)
        self._turn = 0

    def lead(self, given: Assignment, still: Callable[[], bool] = lambda: True) -> None:
        """This member leads a group that has settled on this assignment, for as long as it ``still`` does."""
        self._turn += 1
        self._watch.settled(self._now())
        members = tuple(
            replace(member, owned=given.of_member(i), generation=0, holds=False)
            for i, member in enumerate(given.group.members)
        )
        self._next_look(replace(given.group, members=members, lags={}), still, self._turn)

    def rest(self) -> None:
        """A rebalance begins, and who leads after it is not known."""
        self._turn += 1

    def _next_look(self, group: Group, still: Callable[[], bool], turn: int) -> None:
        self._keeper.later(self._watch.check_s, partial(self._look, group, still, turn))

    def _look(self, group: Group, still: Callable[[], bool], turn: int) -> None:
        if turn != self._turn or not still():
            return
        try:
            answer = self._keeper.look([group.at(p) for p in range(group.size)])
        except Exception as error:  # without lag there is nothing to decide, and members say why
            log.debug("no look at the lag of the group: %s", one_line(error))
            answer = Answer({})
        try:
            if answer.lags:
                self._decide(group, answer.lags, turn)
        finally:
            self._next_look(group, still, turn)

    def _decide(self, group: Group, lags: Lags, turn: int) -> None:
        with_lags = replace(
            group,
            lags={
                topic: [lags.get(TopicPartition(topic, p), UNKNOWN_LAG) for p in range(count)]
                for topic, count in group.topics.items()
            },
        )
        group = self._with_expected(with_lags)
        claims = resolve(group)
        largest = measure(group, claims, Assignment(group, claims.owner)).max_load or 0
        after = self._watch.worth(
            self._now(),
            largest,
            lag_lower_bound(group),
            lambda: measure(group, claims, self._plan(group, claims)).max_load or 0,
        )
        if after is None or turn != self._turn:
            return
        self._watch.asked(self._now())
        log.info(
            "asking for a rebalance: the largest %s of a member is %d records, and can be %d",
            *("lag" if group is with_lags else "expected load", largest, after),
        )
        self._side.request_rejoin_from_elsewhere()
