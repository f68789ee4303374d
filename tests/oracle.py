"""What the best plan is, found without a line of the product's own algorithms.

Claims are settled one by one in dictionaries, small groups are solved by trying every assignment, larger ones
by an exact network simplex (networkx) on integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import networkx as nx

from kafka_assignors.plan import Group, Ownership, TopicPartition


class Score(NamedTuple):
    """How bad a plan is; lower is better, the first field first."""

    unfairness: int  # sum of the squares of the members' loads
    moved: int  # partitions not with the owner they had
    unevenness: int  # sum of the squares of the members' shares of the topics


def owners(group: Group) -> dict[TopicPartition, str]:
    """The owner whose history counts, for every partition that has one."""
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
    """Every partition somebody subscribes to, and who does."""
    return {
        TopicPartition(topic, p): sorted(m.member_id for m in group.members if topic in m.topics)
        for topic, count in group.topics.items()
        for p in range(count)
        if any(topic in m.topics for m in group.members)
    }


def score(group: Group, owner_of: dict[TopicPartition, str]) -> Score:
    """Of an assignment given as partition -> member."""
    before = owners(group)
    loads = Counter(owner_of.values())
    shares = Counter((tp.topic, m) for tp, m in owner_of.items())
    return Score(
        sum(n * n for n in loads.values()),
        sum(before.get(tp) != m for tp, m in owner_of.items()),
        sum(n * n for n in shares.values()),
    )


def by_partition(assignment: Mapping[str, Ownership]) -> dict[TopicPartition, str]:
    """Turn an assignment around; a partition given twice is an error."""
    owner_of: dict[TopicPartition, str] = {}
    for member_id, topics in assignment.items():
        for topic, numbers in topics.items():
            for p in numbers:
                assert TopicPartition(topic, p) not in owner_of, f"{topic}-{p} has two owners"
                owner_of[TopicPartition(topic, p)] = member_id
    return owner_of


def all_plans(group: Group) -> Iterator[dict[TopicPartition, str]]:
    """Every valid assignment there is."""
    choices = wanted(group)
    for pick in product(*choices.values()):
        yield dict(zip(choices, pick, strict=True))


def best_by_trying(
    group: Group, *, allowed: Callable[[dict[TopicPartition, str]], bool] = lambda _: True
) -> Score:
    """The best score of all plans (of those allowed).  Exponential in the partitions."""
    return min(score(group, plan) for plan in all_plans(group) if allowed(plan))


def best_by_flow(group: Group, *, keep_all: bool = False) -> Score:
    """The best score, by minimum-cost flow over single partitions and single units of load and share.

    Partition -> (topic, member) -> member -> sink; parallel unit edges with growing cost make the squares.
    """
    choices = wanted(group)
    before = owners(group)
    partitions = len(choices)
    small = 1
    middle = 2 * sum(n * n for n in Counter(tp.topic for tp in choices).values()) + 1
    large = middle * (partitions + 1)
    graph: nx.MultiDiGraph[object] = nx.MultiDiGraph()
    graph.add_node("sink", demand=partitions)
    for tp, members in choices.items():
        graph.add_node(tp, demand=-1)
        for m in members:
            if keep_all and before.get(tp, m) != m:
                continue
            graph.add_edge(tp, (tp.topic, m), capacity=1, weight=0 if before.get(tp) == m else middle)
    for topic, count in Counter(tp.topic for tp in choices).items():
        for m in {m for tp, members in choices.items() if tp.topic == topic for m in members}:
            for k in range(count):
                graph.add_edge((topic, m), ("member", m), capacity=1, weight=small * (2 * k + 1))
    for m in {m for members in choices.values() for m in members}:
        for k in range(partitions):
            graph.add_edge(("member", m), "sink", capacity=1, weight=large * (2 * k + 1))
    cost, _flow = nx.network_simplex(graph)
    unfairness, rest = divmod(int(cost), large)
    return Score(unfairness, *divmod(rest, middle))
