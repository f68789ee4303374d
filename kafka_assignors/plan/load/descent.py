"""Making the largest load smaller, exchange by exchange."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.counts import CountRule
from kafka_assignors.plan.load.exchange import Found, Pair, best_bundles, best_single
from kafka_assignors.plan.load.standing import Exchange, Standing

__all__ = ["Budget", "descend"]

_ENOUGH = 8
"""So many partners with whom it would get better are looked at before the best of them is taken."""

_CALL = 2000
"""What a look at two members costs at least, counted as partitions that are looked at."""

_RELAYS = 12
"""So many members are tried as the one that passes something on."""

_SEARCHES: tuple[tuple[Callable[[Pair], Found | None], int], ...] = ((best_single, 1), (best_bundles, 2))
"""And how many partitions more than it gets a member may give in each."""


class Budget:
    """Work that may still be done, counted in partitions looked at: the same on any machine."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Take something off; say whether there was something left."""
        self.left -= steps
        return self.left > 0


def descend(
    standing: Standing, rule: CountRule, goal: int, budget: Budget, home: Owners | None = None
) -> list[Exchange]:
    """Relieve the member with the largest load until nothing does, or until it is no larger than ``goal``.

    Args:
        standing: changed in place.
        rule: kept, if it was before.
        goal: records.
        budget: what it may cost.
        home: by partition, whose it was: then no exchange may take more from its home than it brings home.

    Returns:
        What was done, in that order.
    """
    done: list[Exchange] = []
    search = _Search(standing, rule, budget, home)
    while standing.load > goal:
        high = standing.highest
        found = search.relief(high)
        if found is not None:
            standing.do(found.exchange)
            done.append(found.exchange)
        elif way := search.relay(high):
            done += way
        else:
            break
    return done


class _Search:
    """For what makes the largest load smaller."""

    def __init__(self, standing: Standing, rule: CountRule, budget: Budget, home: Owners | None) -> None:
        self._standing, self._rule, self._budget, self._home = standing, rule, budget, home

    def relief(self, high: int) -> Found | None:
        """The best exchange of a member with one of those with the smallest loads."""
        for search, most in _SEARCHES:
            best: Found | None = None
            better = 0
            for low in self._partners(high):
                gap = int(self._standing.loads[high] - self._standing.loads[low])
                if gap < 2 or better >= _ENOUGH:
                    break
                pair = self._pair(high, low, most)
                if not self._budget.spend(_CALL + (pair.work if most == 1 else pair.work_in_bundles)):
                    return best
                found = search(pair)
                if found is None or not self._rule.keeps(self._standing, found.exchange):
                    continue
                better += 1
                if best is None or found.load < best.load:
                    best = found
                # It will hardly get better than with about half of the difference handed over.
                if found.load <= self._standing.loads[high] - gap // 4:
                    break
            if best is not None:
                return best
        return None

    def relay(self, high: int) -> list[Exchange]:
        """Do two exchanges that only together relieve a member: another one takes something and passes it on.

        Tried with its heaviest two for the other one's lightest.
        """
        standing = self._standing
        before = int(standing.loads[high])
        for via in self._partners(high)[:_RELAYS]:
            pair = self._pair(high, via, 1)
            gives, takes = pair.gives, pair.takes
            if pair.calm:
                gives, takes = gives[pair.give_costs <= 0], takes[pair.take_costs <= 0]
            if not len(takes):
                continue
            for give in gives[-2:][::-1].tolist():
                first = Exchange(high, via, (give,), (int(takes[0]),))
                if not self._budget.spend(_CALL) or not self._rule.keeps(standing, first):
                    continue
                standing.do(first)
                if standing.loads[high] < before:
                    second = self.relief(via)
                    if second is not None and second.load < before and second.exchange.low != high:
                        standing.do(second.exchange)
                        return [first, second.exchange]
                standing.do(Exchange(via, high, first.gives, first.takes))
        return []

    def _pair(self, high: int, low: int, most: int) -> Pair:
        return Pair(
            self._standing, high, low, self._rule.steps(self._standing.counts, high, low, most), self._home
        )

    def _partners(self, high: int) -> list[int]:
        """Who could take something from a member, in the order of their loads."""
        standing, field = self._standing, self._standing.field
        members = field.players
        if not field.equal:
            topics = np.unique(field.topic_of[standing.parts[high]])
            members = np.flatnonzero(field.subscribed[topics].any(axis=0))
        order: list[int] = members[np.argsort(standing.loads[members], kind="stable")].tolist()
        return [member for member in order if member != high]
