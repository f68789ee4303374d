"""``python -m bench.lag.record``: how large a group's record at the broker is, and how large a group can be.

Real assignors join, plan and join again with what they own and its lag, without a broker.  The record is the
sum of their subscriptions and assignments, and of the broker's own fields as the leader estimates them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import (
    Assignor,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    LagAwareAssignor,
    StickyAssignor,
)
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.budget import RECORD_BYTES, sizes_of
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import budget
from tests.support.joining import cluster, joined

TOPIC = "orders"
FOREVER_MS = 10**9
KINDS: Sequence[type[Assignor]] = (
    StickyAssignor,
    CooperativeStickyAssignor,
    LagAwareAssignor,
    CooperativeLagAwareAssignor,
)
_RANDOM = random.Random(7)
_LAGS = [int(1000 * _RANDOM.paretovariate(0.9)) for _ in range(10_007)]
LIMITS = {"plain": 10**9, "with budgets": RECORD_BYTES}


def lags_of(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    """Return skewed lags at once, as without a broker."""
    return {p: _LAGS[p.partition % len(_LAGS)] for p in partitions}


def record(kind: type[Assignor], partitions: int, members: int, limit: int) -> int:
    """Return the size of the record, bytes, after the second rebalance."""
    options = {}
    if issubclass(kind, LagAssignor):
        options = {
            "lag_source": lags_of,
            "lag_refresh_ms": FOREVER_MS,
            "lag_max_age_ms": FOREVER_MS,
            "lag_timeout_ms": FOREVER_MS,
            "group_record_bytes": limit,
        }
    with ExitStack() as stack:
        group: dict[str, Any] = {f"kafka-python-3.0.12-{i:036}": kind(**options) for i in range(members)}
        for assignor in group.values():
            if isinstance(assignor, LagAssignor):
                stack.callback(assignor.close)
        rebalance(group, partitions, 1)
        for assignor in group.values():
            while isinstance(assignor, LagAssignor) and not assignor._keeper.report()[0]:  # type: ignore[union-attr]
                time.sleep(0.01)
        return rebalance(group, partitions, 2)


def rebalance(group: Mapping[str, Any], partitions: int, generation: int) -> int:
    """Join, plan and assign; return the size of the record, bytes."""
    described = [joined(name, assignor.metadata([TOPIC])) for name, assignor in group.items()]
    leader = next(iter(group.values()))
    given = leader.assign(cluster({TOPIC: partitions}), described)
    sizes = sizes_of(described, given)
    assigned = {name: given[name].encode() for name in group}
    for name, assignor in group.items():
        assignment = ConsumerProtocolAssignment.decode(budget.unfold(assigned[name]))
        assignor.on_assignment(assignment, generation)
    return sum(size.fixed + size.sent for size in sizes) + sum(map(len, assigned.values()))


def largest(kind: type[Assignor], members: int, limit: int, step: int) -> int:
    """Return the most partitions, in steps, whose record fits into ``RECORD_BYTES``."""
    fits, too_many = 0, 2**20 // step
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if record(kind, middle * step, members, limit) <= RECORD_BYTES:
            fits = middle
        else:
            too_many = middle
    return fits * step


def rows(groups: Sequence[tuple[int, int]], step: int) -> Iterator[Sequence[object]]:
    """Rows: each strategy's record for each group, and its largest group."""
    for kind in KINDS:
        for name, limit in LIMITS.items():
            if limit == RECORD_BYTES and not issubclass(kind, LagAssignor):
                continue
            sizes = [record(kind, partitions, members, limit) for partitions, members in groups]
            most = [largest(kind, members, limit, step) for members in (100, 200)] if step else []
            yield f"{kind.name}, {name}", *(f"{size:,}" for size in sizes), *(f"{count:,}" for count in most)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lag.record", description=__doc__)
    parser.add_argument("--groups", nargs="+", default=["50000x100", "100000x100", "200000x200"])
    parser.add_argument("--step", type=int, default=10_000, help="of the largest group; 0: not sought")
    given = parser.parse_args(arguments)
    groups = [(int(p), int(m)) for p, m in (text.split("x") for text in given.groups)]
    most = ["most, 100 members", "most, 200 members"] if given.step else []
    heads = ["strategy", *(f"{p:,} x {m}" for p, m in groups), *most]
    print(f"| {' | '.join(heads)} |\n| --- {'| ---: ' * (len(heads) - 1)}|")
    for row in rows(groups, given.step):
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
