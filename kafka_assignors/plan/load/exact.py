"""Finds the best plan of a small group by branch and bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import LoadProblem
from kafka_assignors.plan.model import NO_MEMBER

MOST_SEARCHED_PARTITIONS = 24
"""Most partitions of a problem.  With more the search would often run out of nodes."""

_MOST_NODES = 12_000
"""Nodes of the search tree to visit: counted instead of timed, so that a plan is the same on any machine.

With more than 16 members there are fewer, because a node costs a step for each member.
"""


class _PlacementSearch:
    """Depth-first search.  Places the heaviest partition first, on the member whose load stays smallest.

    When it minimises moves, it tries the former owner first.
    """

    def __init__(
        self, problem: LoadProblem, home: Owners, largest_count: int, fits: Callable[[Owners], bool]
    ) -> None:
        order = np.argsort(-problem.lag[problem.assignable], kind="stable")
        self.partitions = problem.assignable[order].tolist()
        self.lags = problem.lag[self.partitions].tolist()
        self.homes = home[self.partitions].tolist()
        subscribers = problem.subscribed[problem.topic_of[self.partitions]]
        self.choices = [np.flatnonzero(row).tolist() for row in subscribers]
        self.capacities = problem.capacities
        parts = problem.capacities.parts.tolist()
        columns = problem.subscribed.T
        self.member_kinds = [(column.tobytes(), p) for column, p in zip(columns, parts, strict=True)]
        self.former_owners = {owner for owner in self.homes if owner != NO_MEMBER}
        self.largest_count = largest_count
        self.fits = fits
        self.lag_left = [sum(self.lags[i:]) for i in range(len(self.lags) + 1)]
        self.records = [0] * len(self.member_kinds)
        self.counts = [0] * len(self.member_kinds)
        self.members = problem.subscribers.tolist()
        self.chosen: list[int] = []
        self.best: list[int] | None = None
        self.nodes_left = _MOST_NODES * 16 // max(len(self.members), 16)
        self.no_owners = np.full(len(home), NO_MEMBER, np.int32)

    def run(self, most_load: int, most_moves: int, *, by_moves: bool, enough: int) -> Owners | None:
        self.most_moves, self.by_moves, self.enough = most_moves, by_moves, enough
        self._limit(most_load)
        self._visit(0, 0)
        return None if self.best is None else self._as_owners(self.best)

    def _limit(self, load: int) -> None:
        """Limit the search to plans whose loads are at most this."""
        self.most_load, self.rooms = load, self.capacities.rooms(load)

    def _as_owners(self, chosen: list[int]) -> Owners:
        owners: Owners = self.no_owners.copy()
        owners[self.partitions] = chosen
        return owners

    def _visit(self, depth: int, moved: int) -> bool:
        """Try all owners of the partitions from ``depth`` on; return whether the search is over."""
        self.nodes_left -= 1
        if self.nodes_left < 0:
            return True
        records, counts = self.records, self.counts
        left = [self.rooms[m] - records[m] for m in self.members]
        # After a plan is found, the loads so far may be above the new limit.
        if min(left, default=0) < 0 or sum(left) < self.lag_left[depth]:
            return False
        if depth == len(self.lags):
            return self._complete(moved)
        lag, home = self.lags[depth], self.homes[depth]
        seen = set()
        after = {m: self.capacities.load(m, records[m] + lag) for m in self.choices[depth]}
        order = sorted(after, key=lambda m: (self.by_moves and m != home, after[m], counts[m], m))
        for member in order:
            moves = moved + (home not in (NO_MEMBER, member))
            if (
                after[member] > self.most_load
                or counts[member] >= self.largest_count
                or moves > self.most_moves
            ):
                continue
            # Members without history, with equal load, count, subscription and capacity, are interchangeable.
            state = (
                records[member],
                counts[member],
                self.member_kinds[member],
                member if member in self.former_owners else -1,
            )
            if state in seen:
                continue
            seen.add(state)
            records[member] += lag
            counts[member] += 1
            self.chosen.append(member)
            is_over = self._visit(depth + 1, moves)
            self.chosen.pop()
            records[member] -= lag
            counts[member] -= 1
            if is_over:
                return True
        return False

    def _complete(self, moved: int) -> bool:
        """Record a complete plan if it fits, search only better ones from now on; return whether to stop."""
        if not self.fits(self._as_owners(self.chosen)):
            return False
        self.best = list(self.chosen)
        if self.by_moves:
            self.most_moves = moved - 1
            return self.most_moves < self.enough
        self._limit(max(map(self.capacities.load, range(len(self.records)), self.records)) - 1)
        return self.most_load < self.enough


def best_plan(
    problem: LoadProblem,
    home: Owners,
    limits: tuple[int, int],
    *,
    by_moves: bool,
    enough: int,
    largest_count: int,
    fits: Callable[[Owners], bool],
) -> Owners | None:
    """Find the plan that minimises the largest load, or the moves, within limits.

    Args:
        problem: the partitions and members.
        home: by partition, its owner before.
        limits: the largest load and the number of moves allowed.
        by_moves: minimise the moves; else the largest load.
        enough: a number of moves if ``by_moves``, else a load; the search ends with the first plan that does
            not exceed it.
        largest_count: the most partitions of a member.
        fits: returns whether a plan keeps the rule of counts.

    Returns:
        The best plan found within a limit of nodes; None if the search found none, or if the problem has more
        than ``MOST_SEARCHED_PARTITIONS``.
    """
    if len(problem.assignable) > MOST_SEARCHED_PARTITIONS:
        return None
    return _PlacementSearch(problem, home, largest_count, fits).run(*limits, by_moves=by_moves, enough=enough)
