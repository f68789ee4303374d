"""``python -m tests.bench.stopped``: the longest that ``assign()`` takes when the cluster does not answer.

A leader of 10,000 partitions and 100 members asks a real broker for all lag; then the broker is frozen, and
then killed.  Every call is timed; docs/benchmarks.md has the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psutil
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from rich.console import Console
from rich.table import Table

from kafka_assignors import CooperativeLagAwareAssignor
from kafka_assignors.broker import development_broker
from kafka_assignors.errors import LagError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire import lag_user_data
from tests.bench.machine import machine
from tests.joining import cluster, joined, raw

TOPICS = dict.fromkeys((f"orders-{i}" for i in range(5)), 2_000)
MEMBERS = 100
CALLS = 5
TIMEOUT_MS = 2_000


def report(member: int) -> bytes:
    """User data of a member that knows the lag of its hundredth of the partitions."""
    mine = [
        TopicPartition(topic, p) for topic, count in TOPICS.items() for p in range(member, count, MEMBERS)
    ]
    return lag_user_data.encode({}, NO_GENERATION, {at: 1_000 * (at.partition % 7) for at in mine}, 0)


def wait_for_lag(bootstrap: str, console: Console) -> None:
    """A small broker makes 10,000 logs for a minute or two before it knows its groups."""
    fetcher = LagFetcher({"bootstrap_servers": bootstrap, "group_id": "bench"})
    wanted = [TopicPartition(topic, p) for topic, count in TOPICS.items() for p in range(count)]
    began = time.monotonic()
    while True:
        try:
            missing = len(fetcher.fetch(wanted, 10_000).missing)
        except LagError:
            missing = len(wanted)
        if not missing:
            break
        console.print(f"{time.monotonic() - began:.0f} s, no lag of {missing:,} partitions yet", markup=False)
    fetcher.close()


def main() -> None:
    """Measure, and show."""
    console = Console()
    table = Table("the broker", "calls", "median, s", "longest, s", title="assign(), lag_timeout_ms=2000")
    silent = [joined(f"m{i:03}", raw(TOPICS)) for i in range(MEMBERS)]
    reporting = [joined(f"m{i:03}", raw(TOPICS, report(i))) for i in range(MEMBERS)]
    console.print(f"{machine()}; starting a broker with {sum(TOPICS.values()):,} partitions", markup=False)
    with development_broker("jars") as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap, request_timeout_ms=120_000)
        for name, count in TOPICS.items():  # a broker refuses more at a time
            admin.create_topics([NewTopic(name, num_partitions=count, replication_factor=1)])
        admin.close()
        wait_for_lag(broker.bootstrap, console)
        strategy = CooperativeLagAwareAssignor.configured(
            consumer_config={"bootstrap_servers": broker.bootstrap, "group_id": "bench"},
            lag_timeout_ms=TIMEOUT_MS,
            lag_refresh_ms=1,  # so that nothing is remembered from the call before
        )

        def row(state: str, before: Callable[[], object], members: list[Any]) -> None:
            assignor = strategy()
            try:
                assignor.assign(cluster(TOPICS), members)  # connected, as a leader is that has led before
                before()
                times = []
                for _ in range(CALLS):
                    began = time.perf_counter()
                    assignor.assign(cluster(TOPICS), members)
                    times.append(time.perf_counter() - began)
                    console.print(f"{state}: {times[-1]:.2f} s", markup=False)
            finally:
                assignor.close()
            table.add_row(state, str(CALLS), f"{sorted(times)[CALLS // 2]:.2f}", f"{max(times):.2f}")

        (java,) = psutil.Process(broker.pid).children()
        row("answers", lambda: None, silent)
        row("need not be asked: members report", lambda: None, reporting)
        row("frozen (SIGSTOP)", java.suspend, silent)
        java.resume()
        row("killed", java.kill, silent)
    console.print(table)


if __name__ == "__main__":
    main()
