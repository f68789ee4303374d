"""Measures the time to fetch a group's lag: ``LagFetcher`` beside kafka-python's own clients.

It starts a development broker with 10 topics of the same number of partitions.  Every 50th partition has a
record, and the group has a commit in every partition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPartition
from kafka.admin import NewTopic, OffsetSpec

from bench.table import as_markdown, ms
from bench.timing import times
from kafka_assignors.broker import development_broker
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.lag import LagFetcher
from kafka_assignors.plan import TopicPartition
from tests.integration.lagging import commit_by

Row = dict[str, Any]

SIZES = (1_000, 10_000)
TOPICS = 10
RUNS = 11
ONE_BY_ONE = 200  # partitions that are asked for one at a time
GROUP = "bench"
LONGEST_MS = 60_000
_BATCH = 1_000  # commits

LEGEND = (
    "Milliseconds, medians of {runs} runs (longest). `cold`: with connecting; `warm`: the next fetch. "
    "*Admin client*: batched calls, connected. *Consumer*: `end_offsets` and `beginning_offsets` batched or "
    "one by one, `committed` always one by one; extrapolated (~) from {one_by_one} partitions. "
    "The broker has a heap of 1 GB."
)
HEAD = ["partitions", "**cold**", "**warm**", "admin client", "consumer, batched", "consumer, one by one"]


class NotMeasuredError(Exception):
    """No broker is available; the message is the reason."""


def measure(now: Callable[[str], None], sizes: Iterable[int] = SIZES, runs: int = RUNS) -> Iterator[Row]:
    """Yield a row for each size.

    Raises:
        NotMeasuredError: no broker could be started.
    """
    try:
        with more_heap(), development_broker("jars") as broker:
            for size in sizes:
                now(f"lag of {size:,} partitions")
                yield _row(broker.bootstrap, size, runs)
    except KafkaAssignorsError as error:
        raise NotMeasuredError(str(error)) from error


@contextmanager
def more_heap() -> Iterator[None]:
    """Start brokers from jars with a heap of 1 GB; a container does not take the option.

    10,000 partitions nearly fill 256 MB, and the GC delays fetches.
    """
    before = os.environ.get("_JAVA_OPTIONS")
    os.environ["_JAVA_OPTIONS"] = f"{before or ''} -Xmx1g".strip()
    try:
        yield
    finally:
        del os.environ["_JAVA_OPTIONS"]
        if before is not None:
            os.environ["_JAVA_OPTIONS"] = before


def _row(bootstrap: str, size: int, runs: int) -> Row:
    tps = prepared(bootstrap, size)
    config = {"bootstrap_servers": bootstrap, "group_id": GROUP, "auto_offset_reset": "earliest"}
    right = {tp: 1 if index % 50 == 0 else 0 for index, tp in enumerate(tps)}

    def cold() -> None:
        with closing(LagFetcher(config)) as fetcher:
            assert fetcher.fetch(tps, LONGEST_MS).lags == right

    row: Row = {"partitions": size, "runs": runs, "cold": times(cold, runs)}
    with closing(LagFetcher(config)) as fetcher:
        fetcher.fetch(tps, LONGEST_MS)
        row["warm"] = times(lambda: fetcher.fetch(tps, LONGEST_MS), runs)
    theirs = [KafkaPartition(*tp) for tp in tps]
    row["admin"] = _admin_client(bootstrap, theirs, runs)
    return row | _consumer(bootstrap, theirs)


def prepared(bootstrap: str, size: int) -> list[TopicPartition]:
    """Create topics with ``size`` partitions in all, commits of ``GROUP``, and a few records."""
    topics = [f"lag-{size}-{number}" for number in range(TOPICS)]
    tps = [TopicPartition(topic, p) for topic in topics for p in range(size // TOPICS)]
    with KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=LONGEST_MS) as admin:
        for topic in topics:  # a broker refuses to create thousands of partitions in one request
            admin.create_topics([NewTopic(topic, size // TOPICS, 1)])
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        for tp in tps[::50]:
            producer.send(tp.topic, b"x", partition=tp.partition)
        producer.close()
        for first in range(0, size, _BATCH):
            commit_by(admin, GROUP, dict.fromkeys(tps[first : first + _BATCH], 0))
    return tps


def _admin_client(bootstrap: str, tps: list[Any], runs: int) -> list[float]:
    def ask() -> None:
        admin.list_group_offsets({GROUP: tps})
        admin.list_partition_offsets(dict.fromkeys(tps, OffsetSpec.LATEST))
        admin.list_partition_offsets(dict.fromkeys(tps, OffsetSpec.EARLIEST))

    with KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=LONGEST_MS) as admin:
        ask()
        return times(ask, runs)


def _consumer(bootstrap: str, tps: list[Any]) -> Row:
    """Measure both ways with a consumer that has fetched the metadata of all topics."""
    some = tps[:: max(len(tps) // ONE_BY_ONE, 1)]
    with KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=GROUP, enable_auto_commit=False, request_timeout_ms=LONGEST_MS
    ) as consumer:
        consumer.committed(tps[0])
        ends = times(lambda: (consumer.end_offsets(tps), consumer.beginning_offsets(tps)), 3)
        commits = times(lambda: [consumer.committed(tp) for tp in some], 1)
        one_by_one = times(
            lambda: [(consumer.end_offsets([tp]), consumer.beginning_offsets([tp])) for tp in some], 1
        )
    scale = len(tps) / len(some)
    return {
        "batched": median(ends) + commits[0] * scale,
        "one by one": (commits[0] + one_by_one[0]) * scale,
        "asked one by one": len(some),
    }


# --- what comes out ----------------------------------------------------------------------------------------


def cells(row: Row) -> list[str]:
    """Return a row of the table."""
    return [
        f"{row['partitions']:,}",
        *[f"{ms(median(row[way]))} ({ms(max(row[way]))})" for way in ("cold", "warm", "admin")],
        *[f"~ {ms(row[way])}" for way in ("batched", "one by one")],
    ]


def markdown(rows: list[Row]) -> str:
    """Return the legend and the table in Markdown."""
    legend = LEGEND.format(runs=rows[0]["runs"], one_by_one=max(row["asked one by one"] for row in rows))
    return f"{legend}\n\n{as_markdown(HEAD, map(cells, rows), words=0)}"
