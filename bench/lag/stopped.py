"""``python -m bench.lag.stopped``: the longest time of ``assign()`` when the cluster does not answer.

A leader of 10,000 partitions and 100 members fetches all lag from a real broker, or does not need to, because
its members report it.  Then the broker is frozen, and then killed.  docs/benchmarks.md has the longest time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from bench.lag.fetching import GROUP, more_heap, prepared
from bench.machine import machine
from kafka_assignors import CooperativeLagAwareAssignor
from kafka_assignors.broker import development_broker
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire import lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from tests.support.group.joining import cluster, joined, raw

PARTITIONS = 10_000
MEMBERS = 100
CALLS = 5
TIMEOUT_MS = 2_000


def report(mine: list[TopicPartition]) -> bytes:
    """Return the user data of a member that knows the lag of its partitions."""
    return lag_user_data.encode(
        LagUserData(
            {}, NO_GENERATION, {partition: 1_000 * (partition.partition % 7) for partition in mine}, 0
        )
    )


def main() -> None:
    console = Console()
    table = Table("the broker", "calls", "median, s", "longest, s", title="assign(), lag_timeout_ms=2000")
    console.print(f"{machine()}; making {PARTITIONS:,} partitions", markup=False)
    with more_heap(), development_broker("jars") as broker:
        partitions = prepared(broker.bootstrap, PARTITIONS)
        topics = Counter(partition.topic for partition in partitions)
        silent = [joined(f"m{i:03}", raw(topics)) for i in range(MEMBERS)]
        reporting = [joined(f"m{i:03}", raw(topics, report(partitions[i::MEMBERS]))) for i in range(MEMBERS)]
        strategy = CooperativeLagAwareAssignor.configured(
            consumer_config={"bootstrap_servers": broker.bootstrap, "group_id": GROUP},
            lag_timeout_ms=TIMEOUT_MS,
            lag_refresh_ms=1,  # so that no call uses the lag that an earlier call has fetched
        )

        def row(state: str, before: Callable[[], object], members: list[Any]) -> None:
            with closing(strategy()) as assignor:
                assignor.assign(cluster(topics), silent)  # connects; a leader that led before is connected
                before()
                times = []
                for _ in range(CALLS):
                    began = time.perf_counter()
                    assignor.assign(cluster(topics), members)
                    times.append(time.perf_counter() - began)
                    console.print(f"{state}: {times[-1]:.2f} s", markup=False)
            table.add_row(state, str(CALLS), f"{sorted(times)[CALLS // 2]:.2f}", f"{max(times):.2f}")

        (java,) = psutil.Process(broker.pid).children()
        row("answers", lambda: None, silent)
        row("need not be asked", lambda: None, reporting)
        row("frozen (SIGSTOP)", java.suspend, silent)
        java.resume()
        row("killed", java.kill, silent)
    console.print(table)


if __name__ == "__main__":
    main()
