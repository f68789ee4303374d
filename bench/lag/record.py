"""``python -m bench.lag.record``: how large a group's record at the broker is, and how large a group can be.

Without a broker, a real assignor joins with a random part of the partitions and their lag.  The record is the
leader's estimate for a group of such members, with the broker's own fields.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from bench.lag.forecasts import table
from kafka_assignors import (
    Assignor,
    CooperativeLagAwareAssignor,
    CooperativeStickyAssignor,
    LagAwareAssignor,
    StickyAssignor,
)
from kafka_assignors.assignor.lag.base import LagAssignor
from kafka_assignors.assignor.lag.budget import MemberSize, fit, sizes_of
from kafka_assignors.assignor.record_size import RECORD_BYTES
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import budget
from kafka_assignors.wire.budget import MemberBudget
from tests.support.group.joining import joined

TOPIC = "orders"
MEMBER = f"kafka-python-3.0.12-{0:036}"
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
    """Return skewed lags at once, without a broker."""
    return {p: _LAGS[p.partition % len(_LAGS)] for p in partitions}


def record(kind: type[Assignor], partitions: int, members: int, limit: int) -> int:
    """Return the bytes of the record of equal members, after they have received their budgets."""
    of_one = sorted(random.Random(partitions).sample(range(partitions), partitions // members))
    given = ConsumerProtocolAssignment(0, [(TOPIC, of_one)], b"")
    if not issubclass(kind, LagAssignor):
        return fit([size_of(kind(), given)] * members, limit, claims=True).size
    forever = dict.fromkeys(("lag_refresh_ms", "lag_max_age_ms", "lag_timeout_ms"), FOREVER_MS)
    assignor: Any = kind(lag_source=lags_of, group_record_bytes=limit, **forever)
    assignor.on_assignment(given, 1)
    while not assignor._keeper.report()[0]:
        time.sleep(0.001)
    fitted = fit([size_of(assignor, given)] * members, limit, claims=assignor.sends_claims)
    if fitted.budgets is not None:
        assignor.on_assignment(with_budget(given, fitted.budgets[0]), 1)
        sizes = [size_of(assignor, given)] * members
        fitted = fit(sizes, limit, claims=assignor.sends_claims, some_have_budgets=True)
    assignor.close()
    return fitted.size


def with_budget(given: ConsumerProtocolAssignment, received: MemberBudget) -> ConsumerProtocolAssignment:
    """Return the assignment with the budget, as the member receives it."""
    return ConsumerProtocolAssignment(
        0, given.assigned_partitions, budget.encode(MemberBudget(received.size))
    )


def size_of(assignor: Assignor, given: ConsumerProtocolAssignment) -> MemberSize:
    """Return the size in the record of a member that owns the partitions it is assigned."""
    if not isinstance(assignor, LagAssignor):
        assignor.on_assignment(given, 1)
    described = joined(MEMBER, assignor.metadata([TOPIC]))
    (size,) = sizes_of([described], {MEMBER: given})
    return size


def largest(kind: type[Assignor], members: int, limit: int, step: int) -> int:
    """Return the most partitions, a multiple of ``step``, whose record fits into ``RECORD_BYTES``."""
    fits, too_many = 0, 2**20 // step
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if record(kind, middle * step, members, limit) <= RECORD_BYTES:
            fits = middle
        else:
            too_many = middle
    return fits * step


def rows(groups: Sequence[tuple[int, int]], step: int) -> Iterator[Sequence[object]]:
    """Yield rows: each strategy's record for each group, and its largest group."""
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
    parser.add_argument("--groups", nargs="+", default=["58000x100", "100000x100", "200000x200"])
    parser.add_argument("--step", type=int, default=1_000, help="of the largest group; 0: not sought")
    given = parser.parse_args(arguments)
    groups = [(int(p), int(m)) for p, m in (text.split("x") for text in given.groups)]
    most = ["most, 100 members", "most, 200 members"] if given.step else []
    heads = ["strategy", *(f"{p:,} x {m}" for p, m in groups), *most]
    table(heads, rows(groups, given.step))


if __name__ == "__main__":
    main()
