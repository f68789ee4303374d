"""Finds the best plan without the package's algorithms.

Claims are settled one by one in dictionaries, small groups are solved by trying every assignment, larger ones
by an exact network simplex (networkx) on integers.  For still larger groups a plan is proven the best: no
chain of moves betters it.  (test_optimum.py holds that against the network simplex, too.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from kafka_assignors.plan import Group, Ownership, TopicPartition


class Score(NamedTuple):
    """The score of a plan; lower is better, and the first field counts first."""

    unfairness: int  # sum of the squares of the members' loads
    away: int  # partitions away from their replicas, though a subscriber is near one
    moved: int  # partitions not with the owner they had
    unevenness: int  # sum of the squares of the members' shares of the lots


class Lot(NamedTuple):
    """Partitions of a topic that are as near to one as to the other."""

    topic: str
    near: frozenset[str]  # the subscribers in a rack of a replica; all subscribers if there are none


scored: Counter[str] = Counter()
"""Number of groups whose plan was compared with the best plan, by the method that found the best."""


def owners(group: Group) -> dict[TopicPartition, str]:
    """The valid owner of every partition that has one."""
    claims: dict[TopicPartition, dict[int, set[str]]] = {}
    for m in group.members:
        for topic, numbers in m.owned.items():
            for p in numbers:
                if 0 <= p < group.topics.get(topic, 0):
                    claims.setdefault(TopicPartition(topic, p), {}).setdefault(m.generation, set()).add(
                        m.member_id
                    )
    topics_of = {m.member_id: m.topics for m in group.members}
    owner = {}
    for tp, by_generation in claims.items():
        latest = by_generation[max(by_generation)]
        if len(latest) == 1 and tp.topic in topics_of[next(iter(latest))]:
            owner[tp] = next(iter(latest))
    return owner


def wanted(group: Group) -> dict[TopicPartition, list[str]]:
    """Every subscribed partition with its subscribers."""
    found: dict[TopicPartition, list[str]] = {}
    for topic, count in group.topics.items():
        if subscribers := sorted(m.member_id for m in group.members if topic in m.topics):
            found |= {TopicPartition(topic, p): subscribers for p in range(count)}
    return found


def lots(group: Group) -> dict[TopicPartition, Lot]:
    """Assign every subscribed partition."""
    found = {}
    rack_of = {m.member_id: m.rack for m in group.members}
    same: dict[tuple[str, frozenset[str]], Lot] = {}
    for tp, members in wanted(group).items():
        known = group.racks.get(tp.topic, ())
        racks = known[tp.partition] if tp.partition < len(known) else frozenset[str]()
        if (tp.topic, racks) not in same:
            near = [m for m in members if rack_of[m] in racks]
            same[tp.topic, racks] = Lot(tp.topic, frozenset(near or members))
        found[tp] = same[tp.topic, racks]
    return found


def score(group: Group, owner_of: dict[TopicPartition, str]) -> Score:
    """Return the score of an assignment, given as partition -> member."""
    before, lot = owners(group), lots(group)
    loads = Counter(owner_of.values())
    shares = Counter((lot[tp], m) for tp, m in owner_of.items())
    return Score(
        sum(n * n for n in loads.values()),
        sum(m not in lot[tp].near for tp, m in owner_of.items()),
        sum(before.get(tp) != m for tp, m in owner_of.items()),
        sum(n * n for n in shares.values()),
    )


def by_partition(assignment: Mapping[str, Ownership]) -> dict[TopicPartition, str]:
    """Map partitions to members; a partition with two members is an error."""
    owner_of: dict[TopicPartition, str] = {}
    for member_id, topics in assignment.items():
        for topic, numbers in topics.items():
            for p in numbers:
                assert TopicPartition(topic, p) not in owner_of, f"{topic}-{p} has two owners"
                owner_of[TopicPartition(topic, p)] = member_id
    return owner_of


def all_plans(group: Group) -> Iterator[dict[TopicPartition, str]]:
    """Yield every valid assignment."""
    choices = wanted(group)
    for pick in product(*choices.values()):
        yield dict(zip(choices, pick, strict=True))


def best_by_trying(
    group: Group, *, allowed: Callable[[dict[TopicPartition, str]], bool] = lambda _: True
) -> Score:
    """The best score of all plans (of those allowed).  Exponential in the partitions."""
    scored["trying every plan"] += 1
    return min(score(group, plan) for plan in all_plans(group) if allowed(plan))


def best_by_flow(group: Group, *, keep_all: bool = False) -> Score:
    """The best score, by minimum-cost flow over single partitions and single units of load and share.

    Partition -> (lot, member) -> member -> sink; parallel unit edges with growing cost make the squares.
    """
    scored["network simplex"] += 1
    choices, lot, before = wanted(group), lots(group), owners(group)
    partitions = len(choices)
    sizes = Counter(lot.values())
    moved = 2 * sum(n * n for n in sizes.values()) + 1
    away = moved * (partitions + 1)
    unfair = away * (partitions + 1)
    graph: nx.MultiDiGraph[object] = nx.MultiDiGraph()
    graph.add_node("sink", demand=partitions)
    for tp, members in choices.items():
        graph.add_node(tp, demand=-1)
        for m in members:
            if keep_all and before.get(tp, m) != m:
                continue
            cost = moved * (before.get(tp) != m) + away * (m not in lot[tp].near)
            graph.add_edge(tp, (lot[tp], m), capacity=1, weight=cost)
    for lot_key, m in {(lot[tp], m) for tp, members in choices.items() for m in members}:
        for k in range(sizes[lot_key]):
            graph.add_edge((lot_key, m), ("member", m), capacity=1, weight=2 * k + 1)
    for m in {m for members in choices.values() for m in members}:
        for k in range(partitions):
            graph.add_edge(("member", m), "sink", capacity=1, weight=unfair * (2 * k + 1))
    cost, _flow = nx.network_simplex(graph)
    unfairness, rest = divmod(int(cost), unfair)
    far, rest = divmod(rest, away)
    return Score(unfairness, far, *divmod(rest, moved))


def is_best(group: Group, owner_of: dict[TopicPartition, str], *, keep_all: bool = False) -> bool:
    """Whether no plan scores better: for groups that are too large to be solved thousands of times.

    Costs are convex, so a plan that is not the best can be bettered along a cycle (Klein 1967): members hand
    on one partition each, of a lot of their choice, until one of them gets as many as it gave; or until the
    last one has one more, and the first one less.  All such chains are compared, by Floyd and Warshall.
    """
    scored["chains of moves"] += 1
    lot, before = lots(group), owners(group)
    choices = {lot[tp]: members for tp, members in wanted(group).items()}
    row = {one: i for i, one in enumerate(choices)}
    column = {m.member_id: i for i, m in enumerate(group.members)}
    if not row:
        return True
    share, owned = np.zeros((2, len(row), len(column)), np.int64)
    for tp, m in owner_of.items():
        share[row[lot[tp]], column[m]] += 1
    for tp, m in before.items():
        owned[row[lot[tp]], column[m]] += 1
    kept = sum(before.get(tp) == m for tp, m in owner_of.items())
    if kept < np.minimum(share, owned).sum():
        return False  # the same shares with other partitions would keep more
    may = np.array([[m in members for m in column] for members in choices.values()])
    far = np.array([[m not in one.near for m in column] for one in choices]).astype(np.int64)
    # No chain is longer than all members, so these rank the goals.
    longest = 2 * len(column) + 2
    moved = longest * (2 * len(owner_of) + 1)
    away = longest * 2 * moved
    unfair = longest * 2 * away

    def unit(n: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The cost of one unit more than ``n``."""
        return far * away + (n >= owned) * moved + 2 * n + 1

    never = np.int64(2**59)
    add = np.where(may, unit(share), never)
    take = np.where(share > (owned if keep_all else 0), -unit(share - 1), never)
    chain = (take[:, :, None] + add[:, None, :]).min(axis=0)
    for via in range(len(column)):
        chain = np.minimum(chain, chain[:, via, None] + chain[None, via, :])
    if (np.diagonal(chain) < 0).any():
        return False
    load = share.sum(axis=0)
    return not (chain + unfair * ((2 * load + 1)[None, :] - (2 * load - 1)[:, None]) < 0).any()
