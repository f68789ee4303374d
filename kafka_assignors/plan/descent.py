"""Making the largest load smaller, exchange by exchange."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.counts import CountRule
from kafka_assignors.plan.exchange import Found, Pair, best_bundles, best_single
from kafka_assignors.plan.standing import Exchange, Standing

__all__ = ["Budget", "descend"]

_ENOUGH = 8
"""So many partners with whom it would get better are looked at before the best of them is taken."""

_CALL = 1000
"""What a look at two members costs at least, counted as partitions that are looked at."""

Search = Callable[[Pair], Found | None]


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
    while standing.load > goal and (exchange := _relief(standing, rule, budget, home)):
        standing.do(exchange)
        done.append(exchange)
    return done


def _relief(standing: Standing, rule: CountRule, budget: Budget, home: Owners | None) -> Exchange | None:
    """The best exchange of the member with the largest load with one of those with the smallest."""
    high = standing.highest
    field = standing.field
    players = field.players
    if not field.equal:
        # Whoever subscribes to something that it has.
        topics = np.unique(field.topic_of[standing.parts[high]])
        players = np.flatnonzero(field.subscribed[topics].any(axis=0))
    partners = players[np.argsort(standing.loads[players], kind="stable")].tolist()
    searches: list[tuple[Search, int]] = [(best_single, 1), (best_bundles, 2)]
    for search, most in searches:
        best: Found | None = None
        better = 0
        for low in partners:
            gap = int(standing.loads[high] - standing.loads[low])
            if gap < 2 or better >= _ENOUGH:
                break
            pair = Pair(standing, high, low, rule.steps(standing.counts, high, low, most), home)
            if not budget.spend(_CALL + (pair.work if most == 1 else pair.work_in_bundles)):
                return best.exchange if best else None
            found = search(pair)
            if found is None or not _holds(standing, rule, found.exchange):
                continue
            better += 1
            if best is None or found.load < best.load:
                best = found
            # It will hardly get better than with about half of the difference handed over.
            if found.load <= standing.loads[high] - gap // 4:
                break
        if best is not None:
            return best.exchange
    return None


def _holds(standing: Standing, rule: CountRule, exchange: Exchange) -> bool:
    """Whether the counts are still as they should be, where that takes a look at the others."""
    if not rule.looks_further:
        return True
    owner = standing.owner.copy()
    owner[list(exchange.gives)] = exchange.low
    owner[list(exchange.takes)] = exchange.high
    return rule.holds(standing.field.subscribed, standing.field.shares(owner))
