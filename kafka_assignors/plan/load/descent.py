"""Lowers the largest load by one exchange after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exchange import Pair, RatedExchange, best_bundles, best_single
from kafka_assignors.plan.load.working_plan import Budget, Exchange, WorkingPlan

_MOST_COMPARED = 8
"""After this many partners with an improving exchange, the best of these exchanges is made."""

_PAIR_WORK = 2000
"""Fixed cost of examining two members, in partitions examined."""

_MOST_RELAYS = 12
"""Maximum number of members that are tried as the relay."""

_SEARCHES: tuple[tuple[Callable[[Pair], RatedExchange | None], int], ...] = (
    (best_single, 1),
    (best_bundles, 2),
)
"""Each search, and the maximum net number of partitions that ``high`` gives in one exchange."""


def descend(
    plan: WorkingPlan, rule: CountRule, goal: int, budget: Budget, home: Owners | None = None
) -> list[Exchange]:
    """Relieve the member with the largest load while that helps and the load is above ``goal``.

    Args:
        plan: changed in place.
        rule: the rule of counts.  A plan that keeps it still does so afterwards.
        goal: the load at which to stop.
        budget: the limit of the search.
        home: by partition, its owner before this plan.  No exchange then takes more partitions from their
            home than it brings home.  None: any exchange.

    Returns:
        The exchanges made, in order.
    """
    made: list[Exchange] = []
    search = _ExchangeSearch(plan, rule, budget, home)
    while plan.load > goal:
        high = plan.highest
        relief = search.relief(high)
        if relief is not None:
            plan.do(relief.exchange)
            made.append(relief.exchange)
        elif relayed := search.relay(high):
            made += relayed
        else:
            break
    return made


class _ExchangeSearch:
    """Finds exchanges that lower the largest load."""

    def __init__(self, plan: WorkingPlan, rule: CountRule, budget: Budget, home: Owners | None) -> None:
        self._plan, self._rule, self._budget, self._home = plan, rule, budget, home

    def relief(self, high: int) -> RatedExchange | None:
        """Find a good exchange between ``high`` and one of the least loaded members; None: none found."""
        for search, most in _SEARCHES:
            best: RatedExchange | None = None
            compared = 0
            for low in self._partners(high):
                gap = int(self._plan.loads[high] - self._plan.loads[low])
                if gap < 2 or compared >= _MOST_COMPARED:
                    break
                pair = self._pair(high, low, most)
                if not self._budget.spend(_PAIR_WORK + (pair.work if most == 1 else pair.work_in_bundles)):
                    return best
                relief = search(pair)
                if relief is None or not self._rule.keeps(self._plan, relief.exchange, self._budget):
                    continue
                compared += 1
                if best is None or relief.load < best.load:
                    best = relief
                # With equal capacities an exchange lowers the load by half of the gap at most.  A quarter of
                # the gap is good enough.
                if relief.load <= self._plan.loads[high] - gap // 4:
                    break
            if best is not None:
                return best
        return None

    def relay(self, high: int) -> list[Exchange]:
        """Make two exchanges that relieve a member only together; return them, or an empty list.

        Another member, the relay, takes load and passes it on.  In the first exchange ``high`` gives one of
        its two heaviest partitions for the lightest of the relay.
        """
        plan = self._plan
        before = int(plan.loads[high])
        for via in self._partners(high)[:_MOST_RELAYS]:
            pair = self._pair(high, via, 1)
            gives, takes = pair.gives, pair.takes
            if pair.adds_no_moves:
                gives, takes = gives[pair.give_costs <= 0], takes[pair.take_costs <= 0]
            if not len(takes):
                continue
            for give in gives[-2:][::-1].tolist():
                first = Exchange(high, via, (give,), (int(takes[0]),))
                if not self._budget.spend(_PAIR_WORK) or not self._rule.keeps(plan, first, self._budget):
                    continue
                plan.do(first)
                if plan.loads[high] < before:
                    second = self.relief(via)
                    if second is not None and second.load < before and second.exchange.low != high:
                        plan.do(second.exchange)
                        return [first, second.exchange]
                plan.do(Exchange(via, high, first.gives, first.takes))  # undo the first exchange
        return []

    def _pair(self, high: int, low: int, most: int) -> Pair:
        return Pair(self._plan, high, low, self._rule.steps(self._plan.counts, high, low, most), self._home)

    def _partners(self, high: int) -> list[int]:
        """The members that could take a partition of ``high``, the least loaded first."""
        plan, problem = self._plan, self._plan.problem
        members = problem.subscribers
        if not problem.equal:
            topics = np.unique(problem.topic_of[plan.parts[high]])
            members = np.flatnonzero(problem.subscribed[topics].any(axis=0))
        order: list[int] = members[np.argsort(plan.loads[members], kind="stable")].tolist()
        return [member for member in order if member != high]
