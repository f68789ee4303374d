"""The rule of counts: the limit on how many more partitions than another a member may have."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import Exchange, LoadProblem, WorkingPlan
from kafka_assignors.plan.sticky.goals import Mask, Matrix, Vector


class CountRule:
    """A member has at most ``skew`` partitions more than any member within its reach.

    A member reaches another if one of its partitions could go there, in one step or through a chain of
    members that each pass on a partition.  With a skew of 1 these are exactly the fair plans, which have the
    least sum of squares of the counts, so comparing the sum is enough.  With equal subscriptions the rule
    limits the difference between the most and the fewest.

    Args:
        skew: partitions, at least 1; None for no limit.  Also an attribute.
        equal: whether all players subscribe to the same topics.
        players: by member, whether it subscribes to a topic that has partitions.
    """

    def __init__(self, skew: int | None, *, equal: bool, players: Mask) -> None:
        self.skew = skew
        self.equal = equal
        self.players = players
        self._looks_further = not (skew is None or skew == 1 or equal)

    def allows(self, problem: LoadProblem, owners: Owners, kept: Owners) -> bool:
        """Whether ``owners`` keeps the rule, given that ``kept`` does."""
        if self.skew != 1:
            return self.is_met(problem.subscribed, problem.shares(owners))
        return _squares(problem, owners) == _squares(problem, kept)

    def largest(self, problem: LoadProblem, kept: Owners) -> int:
        """Most partitions of one member in a plan that keeps the rule, given that ``kept`` does."""
        if self.skew != 1:
            return len(problem.dealt)
        return int(problem.counts(kept).max(initial=0))

    def fewest(self, problem: LoadProblem, kept: Owners) -> Vector:
        """By member: its fewest partitions in any plan that keeps the rule, given that ``kept`` does."""
        fewest = np.zeros(len(problem.plays), np.int64)
        if self.skew is not None and self.equal and len(problem.players):
            spare = len(problem.dealt) - self.skew * (len(problem.players) - 1)
            fewest[problem.players] = max(-(-spare // len(problem.players)), 0)
        elif self.skew == 1:
            # In two equally fair plans one member's counts differ by one at most.
            fewest = np.maximum(problem.counts(kept) - 1, 0)
        return fewest

    def steps(self, counts: Vector, high: int, low: int, most: int) -> list[int]:
        """The net numbers of partitions that ``high`` may give to ``low``, from ``-most`` to ``most``."""
        wanted = range(-most, most + 1)
        gap = int(counts[high] - counts[low])
        if self.skew is None:
            return list(wanted)
        if self.skew == 1:
            return [step for step in wanted if step in (0, gap)]
        if not self.equal:
            return [step for step in wanted if step == 0 or abs(gap - 2 * step) <= self.skew]
        others = self.players.copy()
        others[[high, low]] = False
        fewest, largest = int(counts[others].min(initial=2**62)), int(counts[others].max(initial=0))
        allowed = []
        for step in wanted:
            after = int(counts[high]) - step, int(counts[low]) + step
            if step == 0 or max(*after, largest) - min(*after, fewest) <= self.skew:
                allowed.append(step)
        return allowed

    def keeps(self, plan: WorkingPlan, exchange: Exchange) -> bool:
        """Whether an exchange allowed by ``steps`` keeps the rule for all other members, too."""
        if not self._looks_further:
            return True
        owner = plan.owner.copy()
        owner[list(exchange.gives)] = exchange.low
        owner[list(exchange.takes)] = exchange.high
        return self.is_met(plan.problem.subscribed, plan.problem.shares(owner))

    def is_met(self, subscribed: Mask, shares: Matrix) -> bool:
        """Whether a matrix of shares (topics, members) keeps the rule.  Not for a skew of 1."""
        if self.skew is None:
            return True
        counts = shares.sum(axis=0)
        return bool((counts - lowest_within_reach(subscribed, shares) <= self.skew).all())


def _squares(problem: LoadProblem, owners: Owners) -> int:
    return int((problem.counts(owners) ** 2).sum())


def lowest_within_reach(subscribed: Mask, shares: Matrix) -> Vector:
    """By member: the smallest count (partitions) of the members within its reach."""
    counts = shares.sum(axis=0)
    lowest: Vector = counts.copy()
    far = int(counts.max(initial=0)) + 1
    while True:
        of_topic = np.where(subscribed, lowest, far).min(axis=1, initial=far)
        reached = np.where(shares > 0, of_topic[:, None], far).min(axis=0, initial=far)
        lower = np.minimum(lowest, reached)
        if np.array_equal(lower, lowest):
            return lowest
        lowest = lower
