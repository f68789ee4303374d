"""The best plan of a small group, by branch and bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.standing import Field
from kafka_assignors.plan.model import NOBODY

__all__ = ["MOST_PARTITIONS", "least"]

MOST_PARTITIONS = 24
"""Beyond that the search would end without a result."""

_MOST_NODES = 12_000


class _Search:
    """Depth first: the heaviest partition first; members with less first, or its home if moves count."""

    def __init__(
        self, field: Field, home: Owners, largest_count: int, fits: Callable[[Owners], bool]
    ) -> None:
        order = np.argsort(-field.lag[field.dealt], kind="stable")
        self.partitions = field.dealt[order].tolist()
        self.lags = field.lag[self.partitions].tolist()
        self.homes = home[self.partitions].tolist()
        subscribers = field.subscribed[field.topic_of[self.partitions]]
        self.choices = [np.flatnonzero(row).tolist() for row in subscribers]
        self.kinds = [column.tobytes() for column in field.subscribed.T]
        self.owns = {owner for owner in self.homes if owner != NOBODY}
        self.largest_count = largest_count
        self.fits = fits
        self.left = [sum(self.lags[i:]) for i in range(len(self.lags) + 1)]
        self.loads = [0] * len(self.kinds)
        self.counts = [0] * len(self.kinds)
        self.players = field.players.tolist()
        self.picked: list[int] = []
        self.found: list[int] | None = None
        self.nodes = _MOST_NODES
        self.owners = np.full(len(home), NOBODY, np.int32)

    def run(self, load: int, moves: int, *, by_moves: bool, enough: int) -> Owners | None:
        self.load, self.moves, self.by_moves, self.enough = load, moves, by_moves, enough
        self._visit(0, 0)
        if self.found is None:
            return None
        return self._named(self.found)

    def _named(self, picked: list[int]) -> Owners:
        owners: Owners = self.owners.copy()
        owners[self.partitions] = picked
        return owners

    def _visit(self, at: int, moved: int) -> bool:
        """Try everything from here on; whether the search is over."""
        self.nodes -= 1
        if self.nodes < 0:
            return True
        if at == len(self.lags):
            return self._reached(moved)
        if sum(max(self.load - self.loads[m], 0) for m in self.players) < self.left[at]:
            return False
        lag, home = self.lags[at], self.homes[at]
        seen = set()
        choices = self.choices[at]
        loads, counts = self.loads, self.counts
        order = sorted(choices, key=lambda m: (self.by_moves and m != home, loads[m], counts[m], m))
        for member in order:
            cost = moved + (home not in (NOBODY, member))
            if loads[member] + lag > self.load or counts[member] >= self.largest_count or cost > self.moves:
                continue
            # Who had nothing is as good as another one that has as much, and may have as much.
            like = (loads[member], counts[member], self.kinds[member], member if member in self.owns else -1)
            if like in seen:
                continue
            seen.add(like)
            loads[member] += lag
            counts[member] += 1
            self.picked.append(member)
            over = self._visit(at + 1, cost)
            self.picked.pop()
            loads[member] -= lag
            counts[member] -= 1
            if over:
                return True
        return False

    def _reached(self, moved: int) -> bool:
        if not self.fits(self._named(self.picked)):
            return False
        self.found = list(self.picked)
        if self.by_moves:
            self.moves = moved - 1
            return self.moves < self.enough
        self.load = max(self.loads) - 1
        return self.load < self.enough


def least(
    field: Field,
    home: Owners,
    limits: tuple[int, int],
    *,
    by_moves: bool,
    enough: int,
    largest_count: int,
    fits: Callable[[Owners], bool],
) -> Owners | None:
    """The plan with the smallest largest load, or with the fewest moves, within limits.

    Args:
        field: what there is.
        home: by partition, whose it was.
        limits: the largest load (records) and the moves that are allowed.
        by_moves: look for the fewest moves; else for the smallest load.
        enough: with so few moves, or so small a load, the search ends.
        largest_count: nobody may have more partitions.
        fits: whether a plan keeps the rule of counts.

    Returns:
        The best plan found in so many steps (they are counted, not timed), None if there was none.
    """
    if len(field.dealt) > MOST_PARTITIONS:
        return None
    return _Search(field, home, largest_count, fits).run(*limits, by_moves=by_moves, enough=enough)
