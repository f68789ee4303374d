"""The rule of counts: the limit on how many more partitions one member may have than another."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Matrix, Vector
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import Budget, Exchange, LoadProblem, WorkingPlan


class CountRule:
    """A member has at most ``skew`` partitions more than any member within its reach.

    A member reaches another if one of its partitions could go there, in one step or through a chain of
    members that each pass on a partition.  With a skew of 1, a plan keeps the rule if and only if the sum of
    its squared counts is the lowest possible.  So ``allows`` compares only this sum.  With equal
    subscriptions the rule limits the difference between the most and the fewest partitions of a member.

    Args:
        problem: the problem whose plans keep or break the rule.
        skew: partitions, at least 1; None for no limit.  Also an attribute.
    """

    def __init__(self, problem: LoadProblem, skew: int | None) -> None:
        self._problem = problem
        self.skew = skew

    def allows(self, owners: Owners, kept: Owners) -> bool:
        """Whether ``owners`` keeps the rule, given that ``kept`` does."""
        if self.skew != 1:
            return self.is_met(owners)
        return self._squares(owners) == self._squares(kept)

    def largest(self, kept: Owners) -> int:
        """An upper bound of a member's count in any plan that keeps the rule, given that ``kept`` does."""
        if self.skew != 1:
            return len(self._problem.assignable)
        return int(self._problem.counts(kept).max(initial=0))

    def fewest(self, kept: Owners) -> Vector:
        """By member: a lower bound of its count in any plan that keeps the rule, given that ``kept`` does."""
        problem = self._problem
        fewest = np.zeros(problem.members, np.int64)
        if self.skew is not None and problem.equal and len(problem.subscribers):
            # The other members have at most ``skew`` more than this one.
            rest = len(problem.assignable) - self.skew * (len(problem.subscribers) - 1)
            fewest[problem.subscribers] = max(-(-rest // len(problem.subscribers)), 0)
        elif self.skew == 1:
            # Between two equally fair plans, the count of a member differs by at most one.
            fewest = np.maximum(problem.counts(kept) - 1, 0)
        return fewest

    def steps(self, counts: Vector, high: int, low: int, most: int) -> list[int]:
        """The net numbers of partitions that ``high`` may give to ``low``, from ``-most`` to ``most``.

        With unequal subscriptions, ``keeps`` must also allow the exchange.
        """
        steps = range(-most, most + 1)
        gap = int(counts[high] - counts[low])
        if self.skew is None:
            return list(steps)
        if self.skew == 1:
            return [step for step in steps if step in (0, gap)]
        if not self._problem.equal:
            return [step for step in steps if step == 0 or abs(gap - 2 * step) <= self.skew]
        subscribers = self._problem.subscribers
        others = counts[subscribers[(subscribers != high) & (subscribers != low)]]
        fewest, largest = int(others.min(initial=2**62)), int(others.max(initial=0))
        allowed = []
        for step in steps:
            after = int(counts[high]) - step, int(counts[low]) + step
            if step == 0 or max(*after, largest) - min(*after, fewest) <= self.skew:
                allowed.append(step)
        return allowed

    def keeps(self, plan: WorkingPlan, exchange: Exchange, budget: Budget) -> bool:
        """Whether an exchange allowed by ``steps`` keeps the rule for all other members, too.

        ``plan`` keeps the rule.  Quick comparisons decide most cases.  The others need a check of all
        members, paid by the budget; False if that is spent.
        """
        problem, skew = self._problem, self.skew
        if skew is None or skew == 1 or problem.equal:
            return True
        high, low, gives, takes = exchange.high, exchange.low, list(exchange.gives), list(exchange.takes)
        step = len(gives) - len(takes)
        counts = plan.counts.copy()
        counts[high] -= step
        counts[low] += step
        if np.ptp(counts[problem.subscribers]) <= skew:
            return True
        topic_of = problem.topic_of
        of_high, of_low = {*topic_of[plan.parts[high]]}, {*topic_of[plan.parts[low]]}
        if step == 0 and {*topic_of[takes]} <= of_high and {*topic_of[gives]} <= of_low:
            return True  # the counts stay, and neither member gets a topic it had none of
        owner = plan.owner.copy()
        owner[gives] = low
        owner[takes] = high
        if step != 0:
            gainer, loser = (low, high) if step > 0 else (high, low)
            takers = problem.subscribed[topic_of[owner == gainer]].any(axis=0)
            givers = owner[problem.subscribed[topic_of, loser]]
            if max(counts[gainer] - counts[takers].min(), counts[givers].max() - counts[loser]) > skew:
                return False
        return budget.spend(problem.subscribed.size + len(owner)) and self.is_met(owner)

    def is_met(self, owners: Owners) -> bool:
        """Whether a plan keeps the rule."""
        if self.skew is None:
            return True
        shares = self._problem.shares(owners)
        return bool((shares.sum(axis=0) - lowest_within_reach(self._problem, shares) <= self.skew).all())

    def _squares(self, owners: Owners) -> int:
        return int((self._problem.counts(owners) ** 2).sum())


def lowest_within_reach(problem: LoadProblem, shares: Matrix) -> Vector:
    """By member: the smallest count (partitions) of the members within its reach.

    Args:
        problem: the subscriptions.
        shares: partitions that each member has of each topic, shape (topics, members).
    """
    counts = shares.sum(axis=0)
    lowest: Vector = counts.copy()
    far = int(counts.max(initial=0)) + 1
    while True:
        of_topic = np.where(problem.subscribed, lowest, far).min(axis=1, initial=far)
        reached = np.where(shares > 0, of_topic[:, None], far).min(axis=0, initial=far)
        lower = np.minimum(lowest, reached)
        if np.array_equal(lower, lowest):
            return lowest
        lowest = lower
