"""Lower the largest load by one exchange after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exchange import Pair, RatedExchange, best_bundles, best_single
from kafka_assignors.plan.load.working_plan import Exchange, WorkingPlan

_ENOUGH = 8
"""Number of partners with an improving exchange to compare before the best is taken."""

_CALL = 2000
"""Fixed cost of examining two members, in partitions examined."""

_RELAYS = 12
"""Number of members to try as the relay."""

_SEARCHES: tuple[tuple[Callable[[Pair], RatedExchange | None], int], ...] = (
    (best_single, 1),
    (best_bundles, 2),
)
"""Each search, and the most partitions (net) that a member may give in it."""


class Budget:
    """Remaining work, in partitions examined, so that a plan is the same on any machine."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Spend some of the budget; return whether any is left."""
        self.left -= steps
        return self.left > 0


def descend(
    plan: WorkingPlan, rule: CountRule, goal: int, budget: Budget, home: Owners | None = None
) -> list[Exchange]:
    """Relieve the member with the largest load while that helps and the load is above ``goal``.

    Args:
        plan: changed in place.
        rule: the rule of counts; kept, if it was kept before.
        goal: a load.
        budget: the limit of the search.
        home: by partition, its owner before.  With it, no exchange takes more partitions from home than it
            brings home.

    Returns:
        The exchanges made, in order.
    """
    done: list[Exchange] = []
    search = _Search(plan, rule, budget, home)
    while plan.load > goal:
        high = plan.highest
        relief = search.relief(high)
        if relief is not None:
            plan.do(relief.exchange)
            done.append(relief.exchange)
        elif relayed := search.relay(high):
            done += relayed
        else:
            break
    return done


class _Search:
    """Finds exchanges that lower the largest load."""

    def __init__(self, plan: WorkingPlan, rule: CountRule, budget: Budget, home: Owners | None) -> None:
        self._plan, self._rule, self._budget, self._home = plan, rule, budget, home

    def relief(self, high: int) -> RatedExchange | None:
        """The best exchange of a member with one of the least loaded members."""
        for search, most in _SEARCHES:
            best: RatedExchange | None = None
            better = 0
            for low in self._partners(high):
                gap = int(self._plan.loads[high] - self._plan.loads[low])
                if gap < 2 or better >= _ENOUGH:
                    break
                pair = self._pair(high, low, most)
                if not self._budget.spend(_CALL + (pair.work if most == 1 else pair.work_in_bundles)):
                    return best
                relief = search(pair)
                if relief is None or not self._rule.keeps(self._plan, relief.exchange):
                    continue
                better += 1
                if best is None or relief.load < best.load:
                    best = relief
                # An exchange that closes a quarter of the gap is good enough; half would be ideal.
                if relief.load <= self._plan.loads[high] - gap // 4:
                    break
            if best is not None:
                return best
        return None

    def relay(self, high: int) -> list[Exchange]:
        """Make two exchanges that relieve a member only together: another member takes load and passes it on.

        Tries the two heaviest partitions of ``high`` for the lightest of the other member.
        """
        plan = self._plan
        before = int(plan.loads[high])
        for via in self._partners(high)[:_RELAYS]:
            pair = self._pair(high, via, 1)
            gives, takes = pair.gives, pair.takes
            if pair.calm:
                gives, takes = gives[pair.give_costs <= 0], takes[pair.take_costs <= 0]
            if not len(takes):
                continue
            for give in gives[-2:][::-1].tolist():
                first = Exchange(high, via, (give,), (int(takes[0]),))
                if not self._budget.spend(_CALL) or not self._rule.keeps(plan, first):
                    continue
                plan.do(first)
                if plan.loads[high] < before:
                    second = self.relief(via)
                    if second is not None and second.load < before and second.exchange.low != high:
                        plan.do(second.exchange)
                        return [first, second.exchange]
                plan.do(Exchange(via, high, first.gives, first.takes))
        return []

    def _pair(self, high: int, low: int, most: int) -> Pair:
        return Pair(self._plan, high, low, self._rule.steps(self._plan.counts, high, low, most), self._home)

    def _partners(self, high: int) -> list[int]:
        """The members that could take a partition of ``high``, in the order of their loads."""
        plan, problem = self._plan, self._plan.problem
        members = problem.players
        if not problem.equal:
            topics = np.unique(problem.topic_of[plan.parts[high]])
            members = np.flatnonzero(problem.subscribed[topics].any(axis=0))
        order: list[int] = members[np.argsort(plan.loads[members], kind="stable")].tolist()
        return [member for member in order if member != high]
